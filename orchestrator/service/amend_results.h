// `retort retry` and `retort cancel` on a results folder: done here where no run holds the folder, else asked of the
// run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "orchestrator/core/amend_request.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/amendment.h"
#include "orchestrator/service/run_options.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

struct AmendmentOrder {
  Amendment amendment = Amendment::retry;
  std::vector<TrialId> trials;  // planned; with `every_failed` not looked at
  bool every_failed = false;    // retry all that failed
};

// Takes `options.results`, which holds a journal, over for a moment: journal, rows and exit-code file are as
// after a run; requests that lie there come first. Returns the trials that changed by `order`. Error:
// environment, naming who holds the folder; refused, as Amend; damage. What fails before the journal is
// written changes nothing but a stale exit code.
[[nodiscard]] Result<std::vector<TrialId>> AmendResults(storage::Env& env, const RunOptions& options,
                                                        const AmendmentOrder& order, Now now);
// The same. REQUIRES: the caller holds the folder's lock.
[[nodiscard]] Result<std::vector<TrialId>> AmendHeldResults(storage::Env& env, const RunOptions& options,
                                                            const AmendmentOrder& order, Now now);

// Applies the requests that an earlier run left, oldest first, makes them durable and answers them. `recovered` has no
// attempt on a device; call before OpenSweep. Returns a sentence for each. Error: environment, from the logs.
[[nodiscard]] Result<std::vector<std::string>> ApplyPendingRequests(storage::Env& env, Recovered& recovered, Now now);

// Amendments of a folder that a run holds.

struct AmendmentReport {
  enum class Outcome {
    done,
    saving,  // the run accepted it, and workers still save their state
    queued,  // there is no answer yet; the run does it, or whoever takes the folder next
  };
  Outcome outcome = Outcome::done;
  std::vector<TrialId> changed;
  std::string text;  // for people; may be empty
};

struct AnswerWait {
  int looks = 50;               // how often to look for an answer
  std::function<void()> pause;  // called before each look
};

// Submits the request to the run and waits for its answer. When the run ends first, the request is withdrawn and done
// here. Error: refused or damage, as the run says; environment, for a folder that may not be written.
[[nodiscard]] Result<AmendmentReport> RequestAmendment(storage::Env& env, const RunOptions& options,
                                                       const AmendRequest& request, const std::string& name,
                                                       const AnswerWait& patience, const std::function<Now()>& clock);

}  // namespace retort::orchestrator
