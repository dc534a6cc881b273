// The agent of this process, with real worker processes.
#pragma once

#include <memory>

#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "orchestrator/agent.h"
#include "orchestrator/service.h"

namespace retort::orchestrator {

// As `options` say, else the one beside this program.
[[nodiscard]] std::string WorkerProgram(const RunOptions& options);
// `options` with the devices narrowed to those that this host's workers can use, and why.
[[nodiscard]] RunOptions OnUsableDevices(RunOptions options);

// Its slots are the devices that fall to this rank. Error: environment, when the worker program is missing.
[[nodiscard]] Result<std::unique_ptr<Agent>> MakeAgent(const RunOptions& options, WorldRank rank);

}  // namespace retort::orchestrator
