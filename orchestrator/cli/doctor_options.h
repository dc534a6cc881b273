// The command line of `retort doctor`.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/cli/command_line.h"

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

// `sweep` and `rest` receive what stands behind the command.
void AddDoctor(CLI::App& command, CommandLine& line, std::string& sweep, std::vector<std::string>& rest);

}  // namespace retort::orchestrator::cli
