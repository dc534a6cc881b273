// Runs a sweep that selects: [sweep.select].
#pragma once

#include "experiments/base/status.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/service/run_options.h"

namespace retort::orchestrator {

// Runs the selection of `plan`, or what is left of it, to its end: reserves it in the ledger as one event, draws K
// candidates, runs them in a folder that is hidden meanwhile, keeps the best one alone, and destroys the others. A
// folder whose selection has ended is left as it is. Returns the exit code: 0 something was released, or K was 0; 1 the
// best of the candidates had failed; else as RunSweep, of which the rest holds as well.
// Error: as RunSweep; refused for a folder that holds another sweep or selection, or a budget that does not cover it.
[[nodiscard]] Result<int> RunSelectingSweep(const SweepPlan& plan, const RunOptions& options);

}  // namespace retort::orchestrator
