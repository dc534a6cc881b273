// The command line of `retort report`.
#pragma once

#include "orchestrator/cli/command_line.h"

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

// `line` outlives parsing.
void AddReport(CLI::App& command, CommandLine& line);

}  // namespace retort::orchestrator::cli
