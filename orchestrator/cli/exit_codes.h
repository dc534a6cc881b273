// What the process's exit code says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace retort::orchestrator::cli {

struct ExitCodeMeaning {
  int code;
  std::string_view meaning;
};

// Every code that a command ends with, ascending.
[[nodiscard]] const std::vector<ExitCodeMeaning>& ExitCodes();

// "Exit codes: 0 done, 1 ...", in lines of at most `width` columns.
[[nodiscard]] std::string ExitCodesText(std::size_t width);

}  // namespace retort::orchestrator::cli
