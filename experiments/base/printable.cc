#include "experiments/base/printable.h"

#include <algorithm>
#include <cstdint>

namespace retort {
namespace {

bool IsControlNumber(std::uint32_t number) {
  if (number < 0x20 || (number >= 0x7F && number < 0xA0)) return true;
  const bool marks = number == 0x061C || number == 0x200E || number == 0x200F;
  return marks || (number >= 0x2028 && number <= 0x202E) || (number >= 0x2066 && number <= 0x2069);
}

// Returns the length of the control sequence ("\033[31m") that begins at `at`, in bytes; 0 where none does.
std::size_t ControlSequence(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\033[") return 0;
  const auto goes_on = [](char byte) { return byte >= 0x20 && byte < 0x40; };
  const std::string_view rest = text.substr(at + 2);
  const auto last = std::find_if_not(rest.begin(), rest.end(), goes_on);
  const bool ends = last != rest.end() && *last >= 0x40 && *last <= 0x7E;
  return ends ? 2 + static_cast<std::size_t>(last - rest.begin()) + 1 : 0;
}

}  // namespace

std::uint32_t DecodeCodePoint(std::string_view point) {
  const auto first = static_cast<unsigned char>(point[0]);
  std::uint32_t number = point.size() == 1 ? first : first & (0x7FU >> point.size());
  for (const char byte : point.substr(1)) number = number << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
  return number;
}

std::size_t MeasureCodePoint(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  const unsigned char second = length > 1 ? byte(1) : 0;
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

std::size_t FindCodePoint(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; at < text.size() && index > 0; --index) at += std::max<std::size_t>(MeasureCodePoint(text, at), 1);
  return at;
}

bool IsControlCharacter(std::string_view point) { return IsControlNumber(DecodeCodePoint(point)); }

std::string FindControlCharacter(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = MeasureCodePoint(text, at);
    const std::uint32_t number = length == 0 ? 0xFFFD : DecodeCodePoint(text.substr(at, length));
    if (IsControlNumber(number)) {
      std::string name = "U+0000";
      for (std::size_t digit = 0, rest = number; digit < 4; ++digit, rest >>= 4U)
        name[name.size() - 1 - digit] = "0123456789ABCDEF"[rest & 15U];
      return name;
    }
    at += std::max<std::size_t>(length, 1);
  }
  return "";
}

std::string OneLine(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t escape = ControlSequence(text, at); escape > 0) {
      at += escape;
      continue;
    }
    const std::size_t length = MeasureCodePoint(text, at);
    const std::string_view point = text.substr(at, std::max<std::size_t>(length, 1));
    if (length == 0)
      line += '?';
    else if (IsControlCharacter(point))
      line += ' ';
    else
      line += point;
    at += point.size();
  }
  return line;
}

std::string Printable(std::string_view text) {
  std::string lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines += OneLine(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace retort
