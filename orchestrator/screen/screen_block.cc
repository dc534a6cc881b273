#include "orchestrator/screen/screen_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/base/printable.h"

namespace retort::orchestrator {
namespace {

constexpr std::string_view kHideCursor = "\033[?25l";
constexpr std::string_view kShowCursor = "\033[?25h";
constexpr std::string_view kEraseRest = "\033[K";   // of the line
constexpr std::string_view kEraseBelow = "\033[J";  // with the rest of the line

}  // namespace

// On a screen that became narrower a line takes more than one row.
std::string ScreenBlock::ToFirstLine(std::size_t width) const {
  std::size_t rows = 0;
  for (const BlockLine& line : drawn_)
    rows += std::max<std::size_t>(1, (CountColumns(line.text) + width - 1) / std::max<std::size_t>(width, 1));
  return rows == 0 ? "\r" : fmt::format("\r\033[{}A", rows);
}

std::string ScreenBlock::Painted(const BlockLine& line) const {
  return color_ && line.problem ? "\033[31m" + line.text + "\033[0m" : line.text;
}

std::string ScreenBlock::Redraw(std::vector<BlockLine> lines, const Screen& screen) {
  const bool resized = !drawn_.empty() && screen.width != width_;
  if (!resized && lines == drawn_) return "";
  std::string bytes(kHideCursor);
  bytes += ToFirstLine(screen.width);
  if (resized) bytes += kEraseBelow;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool same = !resized && i < drawn_.size() && drawn_[i] == lines[i];
    if (!same) bytes.append(Painted(lines[i])).append(kEraseRest);
    bytes += "\n";
  }
  if (lines.size() < drawn_.size()) bytes += kEraseBelow;
  bytes += kShowCursor;
  drawn_ = std::move(lines);
  width_ = screen.width;
  return bytes;
}

// What was drawn on a screen of another width is redrawn by the next Redraw.
std::string ScreenBlock::Above(std::string_view text, const Screen& screen) {
  std::string bytes = Erasure(screen.width);
  bytes += text;
  if (screen.width != width_) drawn_.clear();
  for (const BlockLine& line : drawn_) bytes += Painted(line) + "\n";
  return bytes;
}

std::string ScreenBlock::Erase(const Screen& screen) {
  std::string bytes = Erasure(screen.width);
  drawn_.clear();
  return bytes;
}

std::string ScreenBlock::Erasure(std::size_t width) const {
  return drawn_.empty() ? std::string() : ToFirstLine(width) + std::string(kEraseBelow);
}

}  // namespace retort::orchestrator
