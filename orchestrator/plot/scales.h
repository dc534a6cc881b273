// From values to places along an axis.
#pragma once

#include <vector>

#include "orchestrator/plot/picture.h"
#include "orchestrator/plot/text_measure.h"
#include "orchestrator/plot/ticks.h"

namespace retort::orchestrator::plot {

struct Scale {
  Range range;  // low > 0 where logarithmic
  bool logarithmic = false;
  std::vector<Tick> ticks;
  std::vector<double> minor;  // marks without a label
  // 0 at the low end, 1 at the high one; beyond them outside of the range, and -1 for what a logarithmic axis cannot
  // hold.
  [[nodiscard]] double At(double value) const;
};

// One scale for all panels, so that they can be compared. `length` of the axis in points; the labels of its ticks,
// in `font`, do not touch each other. Ticks stand at the values that were swept, where there are few of them.
[[nodiscard]] Scale HorizontalScale(const Picture& picture, double length, Font font, const TextMeasure& measure);
// Bars begin at 0. Long intervals are cut: they take no more than half of the axis from what they are around.
[[nodiscard]] Scale VerticalScale(const Picture& picture, double length, Font font);
// Of both axes of a map: 0 stands in the middle, every point lies inside, and nothing is marked.
[[nodiscard]] Scale MapScale(const Picture& picture);

}  // namespace retort::orchestrator::plot
