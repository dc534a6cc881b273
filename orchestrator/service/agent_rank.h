// The agent of this process, with real worker processes, and a rank that is nothing but an agent.
#pragma once

#include <memory>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "orchestrator/service/run_options.h"

namespace retort::orchestrator {

class Agent;

// Path of the worker program: as `options` say, else beside this program.
[[nodiscard]] std::string FindWorkerProgram(const RunOptions& options);
// Returns `options` with the devices restricted to those that this host's workers can use, and a notice of what is left
// out.
[[nodiscard]] RunOptions RestrictToUsableDevices(RunOptions options);

// Makes the agent of this rank. Its slots are the devices that fall to the rank. Error: environment, when the worker
// program is missing.
[[nodiscard]] Result<std::unique_ptr<Agent>> MakeAgent(const RunOptions& options, WorldRank rank);
// Runs a world rank other than 0 (environment.h: IsWorldRankZero): supervises workers until rank 0 sends Shutdown. It
// needs no plan.
[[nodiscard]] Result<int> RunAgentRank(const RunOptions& options);

}  // namespace retort::orchestrator
