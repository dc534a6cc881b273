// Says which version of the program this is, and how it was built.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace retort::orchestrator::cli {

// The commit it was built from; "1f3a9c2e-dirty" where sources differed from it; empty where they were in no work tree.
[[nodiscard]] const char* GetRevision();
// "0.1.0", and the commit it was built from where that is known: "0.1.0 (1f3a9c2e)".
[[nodiscard]] std::string FormatVersion();
// Compiler, build type, libraries, format versions, in a fixed order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> BuildFacts();

}  // namespace retort::orchestrator::cli
