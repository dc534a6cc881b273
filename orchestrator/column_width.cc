#include "orchestrator/column_width.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

#include "orchestrator/column_ranges.h"

namespace retort::orchestrator {
namespace {

std::uint32_t NumberOf(std::string_view point) {
  std::uint32_t number = static_cast<unsigned char>(point[0]) & (0x7FU >> point.size());
  for (const char byte : point.substr(1)) number = number << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
  return number;
}

bool Holds(std::span<const CodePointRange> ranges, std::uint32_t number) {
  const auto after = std::ranges::upper_bound(ranges, number, {}, &CodePointRange::first);
  return after != ranges.begin() && number <= std::prev(after)->last;
}

}  // namespace

std::size_t PointColumns(std::string_view point) {
  if (point.size() < 2) return point.size();
  const std::uint32_t number = NumberOf(point);
  if (Holds(kNoColumn, number)) return 0;
  return Holds(kTwoColumns, number) ? 2 : 1;
}

}  // namespace retort::orchestrator
