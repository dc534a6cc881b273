// The sum of many independent privacy losses of one distribution on a grid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "experiments/privacy/fourier.h"
#include "experiments/privacy/loss_grid.h"

namespace retort::privacy {

// Where and how finely the sum is looked at. Any choice gives valid bounds; a bad one gives loose ones.
struct LossWindow {
  double tilt = 1;            // masses are weighted by e^(tilt * loss), > 0
  std::int64_t first = 0;     // index of the lowest sum looked at
  double rise = 1, fall = 1;  // > 0: exponents for the bounds of its tails above and below
  std::size_t points = 0;     // sums looked at, the plan's size
};

struct LossBounds {
  double lower = 0, upper = 0;  // of epsilon; upper is infinite where nothing is proven
};

// epsilon >= 0 at delta in (0, 1) of `steps` >= 1 losses.
[[nodiscard]] LossBounds BoundsOfSum(const DirectionGrid& grid, double spacing, std::int64_t steps,
                                     double delta, const LossWindow& window, const FourierPlan& plan);

}  // namespace retort::privacy
