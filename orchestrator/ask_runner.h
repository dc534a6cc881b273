// `retort retry` and `retort cancel` on a results folder that somebody is running.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orchestrator/amend_request.h"
#include "orchestrator/amend_results.h"
#include "orchestrator/service.h"
#include "storage/env.h"

namespace retort::orchestrator {

struct AmendmentReport {
  enum class Outcome {
    done,
    saving,  // the run took it up, and workers still save their state
    queued,  // nobody has answered yet; it is done by the run, or by whoever takes the folder next
  };
  Outcome outcome = Outcome::done;
  std::vector<TrialId> changed;
  std::string text;  // for people; may be empty
};

struct Patience {
  int looks = 50;               // for an answer
  std::function<void()> pause;  // before each
};

// Leaves the request for the run and waits for its answer. When the run ends first, the request is withdrawn
// and done here. Error: refused or damage, as the run says; environment, for a folder that may not be
// written.
[[nodiscard]] Result<AmendmentReport> AskRunner(storage::Env& env, const RunOptions& options,
                                                const AmendRequest& request, const std::string& name,
                                                const Patience& patience, const std::function<Now()>& clock);

}  // namespace retort::orchestrator
