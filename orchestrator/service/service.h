// Runs a sweep on world rank 0, with orchestrator and agent in one process. The other ranks are in agent_rank.h.
#pragma once

#include "experiments/base/status.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/service/agent_rank.h"
#include "orchestrator/service/run_options.h"

namespace retort::orchestrator {

// Runs the sweep, or what is left of it, to its end. Returns the exit code of the command: 0 all trials
// succeeded, 1 some did not, 75 interrupted with state saved, 130 on a second signal. Progress and
// summary go to stderr. Call from the main thread, with no other thread running; SIGINT, SIGTERM and
// SIGUSR1 are taken over until it returns. Under MPI: on world rank 0; the other ranks are released and
// the launcher's exit-code file is written whatever is returned; pass the code through EndRun.
// Error: usage for what this version cannot run and for a folder of another version or sweep;
// environment for a folder that is locked, read-only or full, a missing worker program, a busy metrics
// port, MPI. What was reached is kept.
[[nodiscard]] Result<int> RunSweep(const SweepPlan& plan, const RunOptions& options);

// What main of world rank 0 returns when its command ends with `exit_code`: because the plan has errors,
// or with what RunSweep returned. Without MPI that code. Under MPI 0, since anything else makes mpirun end
// the job the hard way; the launcher finds the code in its file, and ranks that still wait are released.
[[nodiscard]] int EndRun(const RunOptions& options, int exit_code);

}  // namespace retort::orchestrator
