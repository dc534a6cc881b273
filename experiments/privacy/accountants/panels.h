// Integrals of smooth functions by Gauss and Legendre's rule on panels.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace retort::privacy {

struct PanelRule {
  std::array<double, 6> node;  // in (0, 1)
  std::array<double, 6> weight;
  std::size_t count;
};

inline constexpr PanelRule kShortPanel = {
    {0.1127016653792583, 0.5, 0.8872983346207417, 0, 0, 0}, {5.0 / 18, 8.0 / 18, 5.0 / 18, 0, 0, 0}, 3};
inline constexpr PanelRule kLongPanel = {{0.03376524289842399, 0.1693953067668677, 0.3806904069584015,
                                          0.6193095930415985, 0.8306046932331323, 0.9662347571015760},
                                         {0.08566224618958517, 0.1803807865240693, 0.2339569672863455,
                                          0.2339569672863455, 0.1803807865240693, 0.08566224618958517},
                                         6};

// Calls add(point, weight) so that the sum of weight * f(point) is the integral of f from `from` to `to`.
// `rate`: how fast f changes, per unit of its argument; the relative error is that of rounding where f is
// like e^(rate * argument).
template <typename Add>
void VisitPanels(double from, double to, double rate, Add&& add) {
  const auto panel = [&add](const PanelRule& rule, double start, double end) {
    for (std::size_t i = 0; i < rule.count; ++i)
      add(start + (end - start) * rule.node[i], (end - start) * rule.weight[i]);
  };
  const double turns = (to - from) * rate;
  if (turns <= 0.05) return panel(kShortPanel, from, to);
  const double panels = std::ceil(turns / 0.4);
  const double width = (to - from) / panels;
  for (double i = 0; i < panels; ++i) panel(kLongPanel, from + i * width, i + 1 < panels ? from + (i + 1) * width : to);
}

}  // namespace retort::privacy
