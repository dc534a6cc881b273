// What this program is and how it was built.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace retort::orchestrator::cli {

// "0.1.0", and the commit it was built from where the source tree knew it: "0.1.0 (1f3a9c2e)".
[[nodiscard]] std::string VersionText();
// Compiler, build type, libraries, format versions, in a fixed order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> BuildFacts();

}  // namespace retort::orchestrator::cli
