#include "orchestrator/cli/roff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace retort::orchestrator::cli {
namespace {

struct Fallback {
  std::uint32_t letter;
  std::string_view ascii;
};

// Letters that help and documents use and that some device of groff lacks.
constexpr std::array kFallbacks = {
    Fallback{0xb1, "+/-"},         Fallback{0xb2, "^2"},     Fallback{0xd7, "x"},      Fallback{0x3b1, "alpha"},
    Fallback{0x3b2, "beta"},       Fallback{0x3b4, "delta"}, Fallback{0x3b5, "epsilon"}, Fallback{0x2013, "-"},
    Fallback{0x2019, "'"},         Fallback{0x2026, "..."},  Fallback{0x2020, "+"},    Fallback{0x2080, "0"},
    Fallback{0x221e, "infinity"},  Fallback{0x2264, "<="},   Fallback{0x2265, ">="}};

// The letter that `text` begins with, and its bytes; a byte that begins none is taken for itself.
std::pair<std::uint32_t, std::size_t> LetterAt(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  const std::size_t size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (size == 1 || size > text.size()) return {lead, 1};
  std::uint32_t letter = lead & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) letter = letter << 6U | (byte(i) & 0x3fU);
  return {letter, size};
}

// `hyphen`: how "-" is written.
std::string Escaped(std::string_view text, std::string_view hyphen) {
  std::string out;
  while (!text.empty()) {
    const auto [letter, size] = LetterAt(text);
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += hyphen;
    } else if (letter == '~') {
      out += "\\(ti";
    } else if (letter == '^') {
      out += "\\(ha";
    } else if (letter == '`') {
      out += "\\(ga";
    } else if (letter == '\'') {
      out += "\\(aq";
    } else if (letter >= 0x80) {
      out += fmt::format("\\[u{:04X}]", letter);
    } else {
      out += static_cast<char>(letter);
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

std::string RoffCode(std::string_view text) {
  const std::string out = Escaped(text, "\\-");
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string RoffBold(std::string_view code) { return "\\fB" + RoffCode(code) + "\\fR"; }

std::string RoffItalic(std::string_view code) { return "\\fI" + RoffCode(code) + "\\fR"; }

std::string RoffText(std::string_view text) {
  std::string out;
  bool code = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) out += code ? RoffBold(part) : Escaped(part, "-");
    if (end < text.size()) code = !code;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string RoffFallbacks(std::string_view page) {
  std::string requests;
  for (const Fallback& fallback : kFallbacks) {
    const std::string name = fmt::format("\\[u{:04X}]", fallback.letter);
    if (page.find(name) == std::string_view::npos) continue;
    requests += ".fchar " + name + " " + Escaped(fallback.ascii, "-") + "\n";
  }
  return requests;
}

}  // namespace retort::orchestrator::cli
