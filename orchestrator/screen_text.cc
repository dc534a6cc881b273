#include "orchestrator/screen_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace retort::orchestrator {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kSpellings = {{{"ε", "eps"},
                                                                                     {"δ", "delta"},
                                                                                     {"≤", "<="},
                                                                                     {"≥", ">="},
                                                                                     {"∞", "inf"},
                                                                                     {"…", "~"},
                                                                                     {"–", "-"},
                                                                                     {"×", "x"},
                                                                                     {"·", "|"},
                                                                                     {"†", "+"},
                                                                                     {"█", "#"},
                                                                                     {"░", "."}}};

bool Continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Bytes of the code point that begins at `at`; 0 where none does.
std::size_t CodePoint(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!Continues(text[at + i])) return 0;
  const auto second = length > 1 ? static_cast<unsigned char>(text[at + 1]) : 0;
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

// C0 and C1 controls, and delete.
bool Controls(std::string_view point) {
  const auto first = static_cast<unsigned char>(point[0]);
  if (point.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(point[1]) < 0xA0;
}

// Bytes of the control sequence ("\033[31m") that begins at `at`; 0 where none does.
std::size_t ControlSequence(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\033[") return 0;
  const auto goes_on = [](char byte) { return byte >= 0x20 && byte < 0x40; };
  const std::string_view rest = text.substr(at + 2);
  const auto last = std::find_if_not(rest.begin(), rest.end(), goes_on);
  const bool ends = last != rest.end() && *last >= 0x40 && *last <= 0x7E;
  return ends ? 2 + static_cast<std::size_t>(last - rest.begin()) + 1 : 0;
}

// Byte at which column `column` begins; the size where there are fewer.
std::size_t ByteAt(std::string_view text, std::size_t column) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (!Continues(text[at]) && column-- == 0) break;
  return at;
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t escape = ControlSequence(text, at); escape > 0) {
      at += escape;
      continue;
    }
    const std::size_t length = CodePoint(text, at);
    const std::string_view point = text.substr(at, std::max<std::size_t>(length, 1));
    if (length == 0)
      line += '?';
    else if (Controls(point))
      line += ' ';
    else
      line += point;
    at += point.size();
  }
  return line;
}

std::string InAscii(std::string_view text) {
  std::string ascii;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(CodePoint(text, at), 1);
    const std::string_view point = text.substr(at, length);
    const auto known = std::find_if(kSpellings.begin(), kSpellings.end(),
                                    [point](const auto& spelling) { return spelling.first == point; });
    if (known != kSpellings.end())
      ascii += known->second;
    else
      ascii += length == 1 && static_cast<unsigned char>(point[0]) < 0x80 ? point : "?";
    at += length;
  }
  return ascii;
}

std::size_t Columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return !Continues(byte); }));
}

std::string CutEnd(std::string_view text, std::size_t width) {
  if (Columns(text) <= width) return std::string(text);
  if (width == 0) return "";
  return std::string(text.substr(0, ByteAt(text, width - 1))) + std::string(kEllipsis);
}

std::string CutMiddle(std::string_view text, std::size_t width) {
  const std::size_t columns = Columns(text);
  if (columns <= width) return std::string(text);
  if (width < 3) return CutEnd(text, width);
  const std::size_t tail = (width - 1) / 2;
  return std::string(text.substr(0, ByteAt(text, width - 1 - tail))) + std::string(kEllipsis) +
         std::string(text.substr(ByteAt(text, columns - tail)));
}

std::string Bar(double fraction, std::size_t cells) {
  const double full = std::clamp(std::isfinite(fraction) ? fraction : 0.0, 0.0, 1.0) * static_cast<double>(cells);
  // Only what is complete is drawn full.
  const auto filled = static_cast<std::size_t>(full);
  std::string bar;
  for (std::size_t cell = 0; cell < cells; ++cell) bar += cell < filled ? "█" : "░";
  return bar;
}

}  // namespace retort::orchestrator
