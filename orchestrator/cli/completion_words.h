// What the completion scripts of all shells are made of: for each command its options and arguments, and what their
// values are completed from.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/cli/command_tree.h"

namespace retort::orchestrator::cli {

// Options that a command takes: its own, and those of the program.
[[nodiscard]] std::vector<const Parameter*> OptionsOf(const CommandNode& root, const CommandNode& command);

// What stands for the values of a parameter in a script: "words a b c", "folders", "text".
[[nodiscard]] std::string SourceText(const Parameter& parameter);

}  // namespace retort::orchestrator::cli
