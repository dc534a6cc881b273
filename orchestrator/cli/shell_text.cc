#include "orchestrator/cli/shell_text.h"

#include <algorithm>

namespace retort::orchestrator::cli {
namespace {

bool IsPlain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string ShellText(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace retort::orchestrator::cli
