// Writes scripts that complete the command line in a shell.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/cli/shell/command_tree.h"

namespace retort::orchestrator::cli {

// What the values of a parameter are completed from.
enum class ValueSource : unsigned char {
  text,   // nothing is known about them
  words,  // its choices
  files,  // any file
  folders,
  results,   // results folders, and folders
  sweeps,    // *.toml
  trials,    // `retort list --names`
  audited,   // trials and sweeps
  profiles,  // [profile.NAME] of the sweep file that stands on the line; so tables and figures
  tables,
  figures,
};

[[nodiscard]] ValueSource FindValueSource(const Parameter& parameter);
[[nodiscard]] std::string GetSourceName(ValueSource source);  // "text", "words", ...: what the scripts call it

// To be read by the shell, or put where it looks for completions of `retort`.
[[nodiscard]] std::string FormatBashCompletion(const CommandNode& root);
[[nodiscard]] std::string FormatZshCompletion(const CommandNode& root);
[[nodiscard]] std::string FishCompletion(const CommandNode& root);

// What the completion scripts of all shells are made of: for each command its options and arguments, and what their
// values are completed from.

// Options that a command takes: its own, and those of the program.
[[nodiscard]] std::vector<const Parameter*> ListOptions(const CommandNode& root, const CommandNode& command);

// What stands for the values of a parameter in a script: "words a b c", "folders", "text".
[[nodiscard]] std::string FormatSource(const Parameter& parameter);

}  // namespace retort::orchestrator::cli
