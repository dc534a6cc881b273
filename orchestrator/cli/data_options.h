// The command line of `data check` and `data clients`.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/cli/command_line.h"

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

// Adds both to the command `data`. `rest` receives their KEY=VALUE words; both outlive the parsing.
void AddData(CLI::App& data, CommandLine& line, std::vector<std::string>& rest);

}  // namespace retort::orchestrator::cli
