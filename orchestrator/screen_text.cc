#include "orchestrator/screen_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "experiments/spec/printable.h"
#include "orchestrator/column_width.h"

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

// The code point at `at`, or the byte that belongs to none.
std::string_view PointAt(std::string_view text, std::size_t at) {
  return text.substr(at, std::max<std::size_t>(CodePointAt(text, at), 1));
}

// Bytes of the longest beginning of `text` that has no more than `columns`.
std::size_t BytesWithin(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view point = PointAt(text, at);
    if (PointColumns(point) > columns) break;
    columns -= PointColumns(point);
    at += point.size();
  }
  return at;
}

// Byte at which the longest end of `text` begins that has no more than `columns`; no mark of what is cut off is in it.
std::size_t EndWithin(std::string_view text, std::size_t columns) {
  std::size_t left = Columns(text), at = 0;
  while (at < text.size() && (left > columns || PointColumns(PointAt(text, at)) == 0)) {
    left -= PointColumns(PointAt(text, at));
    at += PointAt(text, at).size();
  }
  return at;
}

}  // namespace

std::string InAscii(std::string_view text) {
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

std::size_t Columns(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view point = PointAt(text, at);
    columns += PointColumns(point);
    at += point.size();
  }
  return columns;
}

std::string CutEnd(std::string_view text, std::size_t width) {
  if (Columns(text) <= width) return std::string(text);
  if (width == 0) return "";
  return std::string(text.substr(0, BytesWithin(text, width - 1))) + std::string(kEllipsis);
}

std::string CutMiddle(std::string_view text, std::size_t width) {
  if (Columns(text) <= width) return std::string(text);
  if (width < 3) return CutEnd(text, width);
  const std::size_t tail = (width - 1) / 2;
  return std::string(text.substr(0, BytesWithin(text, width - 1 - tail))) + std::string(kEllipsis) +
         std::string(text.substr(EndWithin(text, tail)));
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
