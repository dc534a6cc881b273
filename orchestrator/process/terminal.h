// Size and abilities of the terminal behind a descriptor.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace retort::orchestrator {

struct Screen {
  std::size_t width = 80;   // columns, at least 1
  std::size_t height = 24;  // lines, at least 1
  bool utf8 = true;
};

// Whether the descriptor is a terminal on which lines can be redrawn: not where TERM is "dumb" or missing.
[[nodiscard]] bool CanRedraw(const std::vector<std::string>& environment, int fd);
// Whether the locale is UTF-8, by the first of LC_ALL, LC_CTYPE and LANG that is set.
[[nodiscard]] bool IsUtf8Locale(const std::vector<std::string>& environment);
// Returns the present size; what cannot be found out stays as in `known`.
[[nodiscard]] Screen MeasureScreen(Screen known, int fd);
// False for a job that the user has sent to the background, which must not write to the screen.
[[nodiscard]] bool IsInForeground(int fd);

}  // namespace retort::orchestrator
