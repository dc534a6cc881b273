// The options of `retort completion` and `retort man`.
#pragma once

#include "orchestrator/cli/command_line.h"

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

// Adds both commands to the program; `line` outlives parsing.
void AddDocuments(CLI::App& app, CommandLine& line);

}  // namespace retort::orchestrator::cli
