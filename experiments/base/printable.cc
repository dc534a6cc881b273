#include "experiments/base/printable.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace retort {
namespace {

// As utf8proc_iterate: the length of the code point that `text` begins with; negative where it begins with none.
utf8proc_ssize_t Iterate(std::string_view text, utf8proc_int32_t& number) {
  return utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                          static_cast<utf8proc_ssize_t>(text.size()), &number);
}

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
  utf8proc_int32_t number = 0;
  Iterate(point, number);
  return static_cast<std::uint32_t>(number);
}

std::size_t MeasureCodePoint(std::string_view text, std::size_t at) {
  utf8proc_int32_t number = 0;
  const utf8proc_ssize_t length = Iterate(text.substr(at), number);
  return length < 0 ? 0 : static_cast<std::size_t>(length);
}

bool IsUtf8(std::string_view text) {
  unsigned char high = 0;
  for (const char byte : text) high |= static_cast<unsigned char>(byte);
  if (high < 0x80U) return true;
  for (std::size_t at = 0, length = 0; at < text.size(); at += length)
    if ((length = MeasureCodePoint(text, at)) == 0) return false;
  return true;
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
    if (IsControlNumber(number)) return fmt::format("U+{:04X}", number);
    at += std::max<std::size_t>(length, 1);
  }
  return "";
}

std::string MakeOneLine(std::string_view text) {
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

std::string MakePrintable(std::string_view text) {
  std::string lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines += MakeOneLine(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

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

// Returns the code point at `at`, or the single byte that belongs to none.
std::string_view PointAt(std::string_view text, std::size_t at) {
  return text.substr(at, std::max<std::size_t>(MeasureCodePoint(text, at), 1));
}

// Returns the length of the longest prefix of `text` that has no more than `columns`, in bytes.
std::size_t BytesWithin(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view point = PointAt(text, at);
    if (CountPointColumns(point) > columns) break;
    columns -= CountPointColumns(point);
    at += point.size();
  }
  return at;
}

// Returns the byte at which the longest suffix of `text` with no more than `columns` begins. It does not begin with a
// mark of a character that is cut off.
std::size_t EndWithin(std::string_view text, std::size_t columns) {
  std::size_t left = CountColumns(text), at = 0;
  while (at < text.size() && (left > columns || CountPointColumns(PointAt(text, at)) == 0)) {
    left -= CountPointColumns(PointAt(text, at));
    at += PointAt(text, at).size();
  }
  return at;
}

}  // namespace

std::string ConvertToAscii(std::string_view text) {
  std::string ascii;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view point = PointAt(text, at);
    const auto known = std::find_if(kSpellings.begin(), kSpellings.end(),
                                    [point](const auto& spelling) { return spelling.first == point; });
    if (known != kSpellings.end())
      ascii += known->second;
    else
      ascii += point.size() == 1 && static_cast<unsigned char>(point[0]) < 0x80 ? point : "?";
    at += point.size();
  }
  return ascii;
}

std::size_t CountPointColumns(std::string_view point) {
  if (point.size() < 2) return point.size();
  const std::uint32_t number = DecodeCodePoint(point);
  // Terminals join the vowels and finals of Hangul to the letter before them and give a spacing mark a column of its
  // own, which utf8proc does not, nor does it know a width of control characters.
  if ((number >= 0x1160 && number <= 0x11FF) || (number >= 0xD7B0 && number <= 0xD7FB)) return 0;
  const auto code = static_cast<utf8proc_int32_t>(number);
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return 1;
    default:
      return static_cast<std::size_t>(utf8proc_charwidth(code));
  }
}

std::size_t CountColumns(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view point = PointAt(text, at);
    columns += CountPointColumns(point);
    at += point.size();
  }
  return columns;
}

std::size_t MeasureDisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (true) {
    const std::size_t escape = text.find('\x1b');
    width += CountColumns(text.substr(0, escape));
    const std::size_t end = escape == std::string_view::npos ? escape : text.find('m', escape);
    if (end == std::string_view::npos) return width;
    text.remove_prefix(end + 1);
  }
}

std::string CutEnd(std::string_view text, std::size_t width) {
  if (CountColumns(text) <= width) return std::string(text);
  if (width == 0) return "";
  return std::string(text.substr(0, BytesWithin(text, width - 1))) + std::string(kEllipsis);
}

std::string CutMiddle(std::string_view text, std::size_t width) {
  if (CountColumns(text) <= width) return std::string(text);
  if (width < 3) return CutEnd(text, width);
  const std::size_t tail = (width - 1) / 2;
  return std::string(text.substr(0, BytesWithin(text, width - 1 - tail))) + std::string(kEllipsis) +
         std::string(text.substr(EndWithin(text, tail)));
}

std::string DrawBar(double fraction, std::size_t cells) {
  const double full = std::clamp(std::isfinite(fraction) ? fraction : 0.0, 0.0, 1.0) * static_cast<double>(cells);
  // A cell is drawn full only where the fraction covers all of it.
  const auto filled = static_cast<std::size_t>(full);
  std::string bar;
  for (std::size_t cell = 0; cell < cells; ++cell) bar += cell < filled ? "█" : "░";
  return bar;
}

}  // namespace retort
