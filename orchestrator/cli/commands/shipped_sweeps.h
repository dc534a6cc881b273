// The sweep files that come with the program, and what a word of the command line means by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/base/diagnostic.h"

namespace retort::orchestrator::cli {

// Returns the names of the sweep files below `shared` (FindSharedFolder), in order: "digits/methods", "quickstart".
[[nodiscard]] std::vector<std::string> ListShippedSweeps(const std::string& shared);

// Returns the path of the sweep file that `word` means, the first that is there: the file of that path, the same with
// ".toml" behind it, the shipped sweep of that name, or the shipped file that a page names, as
// "experiments/configs/quickstart.toml". `word` itself where there is none.
[[nodiscard]] std::string FindSweepFile(const std::string& word, const std::string& shared);

// The error about a word that is no path of a TOML file and names no sweep, with the shipped names; nothing for others.
[[nodiscard]] std::optional<Diagnostic> DescribeUnknownSweep(const std::string& word, const std::string& shared);

}  // namespace retort::orchestrator::cli
