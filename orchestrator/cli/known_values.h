// Values of options that the commands check for themselves.
#pragma once

#include <string>
#include <vector>

namespace retort::orchestrator::cli {

// Every valid value of the parameter `name` ("--method", "ARCH") of the command `path` ("model check"), in the order
// of the help; empty where there is no such set, or the parser knows it.
[[nodiscard]] std::vector<std::string> KnownValues(const std::string& path, const std::string& name);

// What `retort export` takes as WHAT, and as --format of any of those.
[[nodiscard]] std::vector<std::string> ExportedParts();
[[nodiscard]] std::vector<std::string> ExportFormats();

}  // namespace retort::orchestrator::cli
