// Finds what was probably meant by arguments that are wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/base/diagnostic.h"
#include "orchestrator/cli/shell/command_tree.h"

namespace retort::orchestrator::cli {

// About the first word that stands where a command belongs and names none, with the nearest that there are.
// Nothing where an option that nobody knows comes before.
[[nodiscard]] std::optional<Diagnostic> FindUnknownCommand(const CommandNode& root,
                                                           const std::vector<std::string>& arguments);

// About the first option whose value is empty or blank, and the first argument that is. An empty value is mostly that
// of a shell's variable that was not set: to take it for none would turn off what was asked for.
[[nodiscard]] std::optional<Diagnostic> FindEmptyValue(const CommandNode& root,
                                                       const std::vector<std::string>& arguments);

// About arguments that the parser refused: the first option that the command lacks, or value that is none of those
// that there are; else a command that is missing. Nothing where it is something else.
[[nodiscard]] std::optional<Diagnostic> FindMisuse(const CommandNode& root, const std::vector<std::string>& arguments);

}  // namespace retort::orchestrator::cli
