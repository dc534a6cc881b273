// The environment variables that Retort's programs read, as cluster/ENVIRONMENT.md lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace retort::orchestrator::cli {

// The bytes of cluster/ENVIRONMENT.md; defined in a file that the build generates.
[[nodiscard]] std::string_view EnvironmentDocument();

struct VariableRow {
  std::vector<std::string> names;    // "XDG_CACHE_HOME", "HOME"
  std::vector<std::string> readers;  // "retort run", "plan", "until-complete.sh"; "plan" is short for "retort plan"
  std::string meaning;               // markdown: code in backticks
};

// The rows of the table below the heading `section` ("Running a sweep"); none where there is no such heading.
[[nodiscard]] std::vector<VariableRow> VariablesOf(std::string_view document, std::string_view section);

// Does the command `path` ("run", "data") or one below it read it? Of an empty path: does any program of Retort?
[[nodiscard]] bool ReadBy(const VariableRow& row, const std::string& path);

}  // namespace retort::orchestrator::cli
