// The spent epsilons in the metrics file of a folder where nothing runs.
#pragma once

#include <string>

#include "experiments/spec/status.h"
#include "orchestrator/core.h"
#include "storage/env.h"

namespace retort::orchestrator {

// Writes RESULTS/metrics.prom again with what `core`, whose surroundings are known, has spent; the rest of it stays as the
// last run left it. Does nothing where there is none. The caller holds the folder's lock. Error: environment.
[[nodiscard]] Status RepublishSpending(storage::Env& env, const Core& core);
// The same where a run is refused since the ledger has lost something, or is damaged: nothing finite is left. A journal that
// cannot be read leaves the file as it is.
[[nodiscard]] Status RepublishLostSpending(storage::Env& env, const std::string& results);

}  // namespace retort::orchestrator
