// Where an axis has its marks, and what stands beside them.
#pragma once

#include <string>
#include <vector>

namespace retort::orchestrator::plot {

struct Range {
  double low = 0, high = 1;
  [[nodiscard]] double span() const { return high - low; }
  [[nodiscard]] bool Holds(double value) const { return value >= low && value <= high; }
};

struct Tick {
  double at = 0;
  std::string label;
};

// Multiples of 1, 2, 2.5 or 5 times a power of ten inside `range`, as many as fit and at most `most` (at least 2).
[[nodiscard]] std::vector<Tick> LinearTicks(Range range, int most);

// Powers of ten inside `range` (low > 0), every second, third, ... where there are more than `most`; with 2 and 5 times
// them where fewer than three powers lie inside.
[[nodiscard]] std::vector<Tick> LogTicks(Range range, int most);
// 2 to 9 times each power of ten inside: marks without a label.
[[nodiscard]] std::vector<double> LogMinorTicks(Range range);

// The number as a person would write it on an axis: 0.25, 50,000, 10⁻⁵, 3×10⁻⁶.
[[nodiscard]] std::string AxisNumber(double value);

}  // namespace retort::orchestrator::plot
