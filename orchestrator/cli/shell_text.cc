#include "orchestrator/cli/shell_text.h"

#include <algorithm>

#include "experiments/spec/printable.h"

namespace retort::orchestrator::cli {
namespace {

bool IsPlain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
}

// As bash and zsh read it: every byte that is not printed by itself stands there as its number.
std::string InBytes(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F)
      quoted += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
    else
      quoted += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

std::string ShellText(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return std::string(word);
  if (OneLine(word) != word) return InBytes(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace retort::orchestrator::cli
