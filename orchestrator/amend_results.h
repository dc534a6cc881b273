// `retort retry` and `retort cancel`: an amendment, made durable in a results folder that nobody holds, or
// that nobody holds yet.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "orchestrator/amendment.h"
#include "orchestrator/recovery.h"
#include "orchestrator/service.h"
#include "storage/env.h"

namespace retort::orchestrator {

struct AmendmentOrder {
  Amendment amendment = Amendment::retry;
  std::vector<TrialId> trials;  // planned; with `every_failed` not looked at
  bool every_failed = false;    // retry: all that failed
};

// Takes `options.results`, which holds a journal, over for a moment: journal, rows and exit-code file are as
// after a run; requests that lie there come first. Returns the trials that changed by `order`. Error:
// environment, naming who holds the folder; refused, as Amend; damage. What fails before the journal is
// written changes nothing but a stale exit code.
[[nodiscard]] Result<std::vector<TrialId>> AmendResults(storage::Env& env, const RunOptions& options,
                                                        const AmendmentOrder& order, Now now);
// The same by who holds the folder's lock.
[[nodiscard]] Result<std::vector<TrialId>> AmendHeldResults(storage::Env& env, const RunOptions& options,
                                                            const AmendmentOrder& order, Now now);

// Requests that an earlier run left, oldest first: made durable and answered. `recovered` has no attempt on a
// device; call before OpenSweep. Returns a sentence for each. Error: environment, from the logs.
[[nodiscard]] Result<std::vector<std::string>> ApplyLeftRequests(storage::Env& env, Recovered& recovered,
                                                                 Now now);

}  // namespace retort::orchestrator
