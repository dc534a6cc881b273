// `retort retry` and `retort cancel`: an amendment, made durable in a results folder that nobody holds.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "orchestrator/amendment.h"
#include "orchestrator/service.h"
#include "storage/env.h"

namespace retort::orchestrator {

struct AmendmentOrder {
  Amendment amendment = Amendment::retry;
  std::vector<TrialId> trials;  // planned; with `every_failed` not looked at
  bool every_failed = false;    // retry: all that failed
};

// Takes `options.results`, which holds a journal, over for a moment: journal, rows and exit-code file are as
// after a run. Returns the trials that changed. Error: environment, naming who holds the folder; refused, as
// Amend; damage. What fails before the journal is written changes nothing but a stale exit code.
[[nodiscard]] Result<std::vector<TrialId>> AmendResults(storage::Env& env, const RunOptions& options,
                                                        const AmendmentOrder& order, Now now);

}  // namespace retort::orchestrator
