// What `run` and `table --complete` have in common.
#pragma once

#include <optional>

#include "orchestrator/cli/commands.h"
#include "orchestrator/service.h"

namespace retort::orchestrator::cli {

// Of the command line and the environment; the results folder is left out.
[[nodiscard]] RunOptions RunOptionsOf(const Invocation& call);

// Stops the run in time for the end of the allocation that it is in, if any. A value is the exit code of a run that has
// nothing left to start.
[[nodiscard]] std::optional<int> KeepToAllocation(const Invocation& call, RunOptions& options);

}  // namespace retort::orchestrator::cli
