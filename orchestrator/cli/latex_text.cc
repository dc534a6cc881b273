#include "orchestrator/cli/latex_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace retort::orchestrator::cli {
namespace {

std::string_view OfAscii(char c) {
  switch (c) {
    case '\\':
      return "\\textbackslash{}";
    case '&':
      return "\\&";
    case '%':
      return "\\%";
    case '$':
      return "\\$";
    case '#':
      return "\\#";
    case '_':
      return "\\_";
    case '{':
      return "\\{";
    case '}':
      return "\\}";
    case '~':
      return "\\textasciitilde{}";
    case '^':
      return "\\textasciicircum{}";
    case '<':
      return "$<$";
    case '>':
      return "$>$";
    case '|':
      return "$|$";
    case '"':
      return "''";
    case '`':
      return "'";
    case '\n':
      return " ";
    default:
      return {};
  }
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kSymbols = {
    {{"ε", "$\\varepsilon$"}, {"δ", "$\\delta$"}, {"∞", "$\\infty$"}, {"†", "\\dag{}"},
     {"±", "$\\pm$"},         {"≤", "$\\le$"},    {"≥", "$\\ge$"},    {"–", "--"},
     {"—", "---"},            {"σ", "$\\sigma$"}, {"μ", "$\\mu$"},    {"κ", "$\\kappa$"},
     {"α", "$\\alpha$"},      {"β", "$\\beta$"},  {"γ", "$\\gamma$"}, {"λ", "$\\lambda$"},
     {"ρ", "$\\rho$"},        {"√", "$\\surd$"},  {"×", "$\\times$"}, {"·", "$\\cdot$"},
     {"²", "$^2$"},           {"°", "$^\\circ$"}, {"§", "\\S{}"},     {"→", "$\\to$"},
     {"₀", "$_0$"}}};

// Bytes of the UTF-8 character that begins `text`, and its code point; a byte that begins none is taken alone.
std::pair<std::size_t, std::uint32_t> CodePoint(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (length == 1 || length > text.size()) return {1, lead};
  std::uint32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return {length, code};
}

}  // namespace

std::string LatexText(std::string_view text) {
  constexpr std::uint32_t kFirstAccented = 0xC0, kPastAccented = 0x180;  // what inputenc composes
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    if ((static_cast<unsigned char>(c) & 0x80U) == 0) {
      const std::string_view escaped = OfAscii(c);
      out += escaped.empty() ? std::string_view(&text.front(), 1) : escaped;
      text.remove_prefix(1);
      continue;
    }
    const auto symbol = std::find_if(kSymbols.begin(), kSymbols.end(),
                                     [&](const auto& known) { return text.starts_with(known.first); });
    const auto [length, code] = CodePoint(text);
    if (symbol != kSymbols.end())
      out += symbol->second;
    else if (code >= kFirstAccented && code < kPastAccented && length == 2)
      out += text.substr(0, length);
    else
      out += fmt::format("{{[U+{:04X}]}}", code);
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace retort::orchestrator::cli
