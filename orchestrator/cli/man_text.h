// Manual pages, made of the commands as the parser knows them, their examples, the exit codes and the list of
// environment variables.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/cli/command_tree.h"

namespace retort::orchestrator::cli {

struct ManPage {
  std::string name;  // "retort", "retort-run": the file is <name>.1
  std::string text;  // roff, for the man macros
};

// Of the program where `command` is `root`; else of a command directly below it, with the commands below that.
// `version`: as shown in the foot of the page.
[[nodiscard]] ManPage ManPageOf(const CommandNode& root, const CommandNode& command, const std::string& version);

// The program's page first.
[[nodiscard]] std::vector<ManPage> ManPages(const CommandNode& root, const std::string& version);

}  // namespace retort::orchestrator::cli
