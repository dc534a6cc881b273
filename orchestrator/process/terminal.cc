#include "orchestrator/process/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "cluster/launch_environment.h"

namespace retort::orchestrator {

bool CanRedraw(const std::vector<std::string>& environment, int fd) {
  const std::string term = cluster::FindVariable(environment, "TERM").value_or("");
  return isatty(fd) == 1 && !term.empty() && term != "dumb";
}

bool IsUtf8Locale(const std::vector<std::string>& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = cluster::FindVariable(environment, name).value_or("");
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

Screen MeasureScreen(Screen known, int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) return known;
  if (size.ws_col > 0) known.width = size.ws_col;
  if (size.ws_row > 0) known.height = size.ws_row;
  return known;
}

bool IsInForeground(int fd) {
  const pid_t group = tcgetpgrp(fd);
  return group < 0 || group == getpgrp();
}

}  // namespace retort::orchestrator
