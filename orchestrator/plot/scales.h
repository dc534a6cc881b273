// Chooses where an axis has its ticks, and what stands beside them.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/plot/chart.h"
#include "orchestrator/plot/text_measure.h"

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
[[nodiscard]] std::vector<Tick> MakeLinearTicks(Range range, int most);

// Powers of ten inside `range` (low > 0), every second, third, ... where there are more than `most`; with 2 and 5 times
// them where fewer than three powers lie inside.
[[nodiscard]] std::vector<Tick> MakeLogTicks(Range range, int most);
// 2 to 9 times each power of ten inside: ticks without a label.
[[nodiscard]] std::vector<double> MakeLogMinorTicks(Range range);

// The number as a person would write it on an axis: 0.25, 50,000, 10⁻⁵, 3×10⁻⁶.
[[nodiscard]] std::string FormatAxisNumber(double value);

// From values to places along an axis.

struct Scale {
  Range range;  // low > 0 where logarithmic
  bool logarithmic = false;
  std::vector<Tick> ticks;
  std::vector<double> minor;  // ticks without a label
  // 0 at the low end, 1 at the high one; beyond them outside of the range, and -1 for what a logarithmic axis cannot
  // hold.
  [[nodiscard]] double At(double value) const;
};

// One scale for all panels, so that they can be compared. `length` of the axis in points; the labels of its ticks,
// in `font`, do not touch each other. Ticks stand at the values that were swept, where there are few of them.
[[nodiscard]] Scale MakeHorizontalScale(const Chart& chart, double length, Font font, const TextMeasure& measure);
// Bars begin at 0. Long intervals are cut: they take no more than half of the axis from what they are around.
[[nodiscard]] Scale MakeVerticalScale(const Chart& chart, double length, Font font);
// Of both axes of a map: 0 stands in the middle, every point lies inside, and there are no ticks.
[[nodiscard]] Scale MapScale(const Chart& chart);

}  // namespace retort::orchestrator::plot
