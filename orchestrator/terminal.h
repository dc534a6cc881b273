// What is known of the terminal behind a descriptor.
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

// A terminal on which lines can be written again: none where TERM is "dumb" or missing.
[[nodiscard]] bool CanRedraw(const std::vector<std::string>& environment, int fd);
// By LC_ALL, LC_CTYPE or LANG, whichever is the first that is set.
[[nodiscard]] bool ReadsUtf8(const std::vector<std::string>& environment);
// As large as it is now; what cannot be told is as in `known`.
[[nodiscard]] Screen ResizedTo(Screen known, int fd);
// False for a job that the user has sent to the background: the screen is somebody else's then.
[[nodiscard]] bool InForeground(int fd);

}  // namespace retort::orchestrator
