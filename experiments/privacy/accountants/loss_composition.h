// epsilon of many independent releases between two rigorous bounds, from the loss of one.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "experiments/privacy/accountants/loss_grid.h"

namespace retort::privacy {

// log P/Q of one release, under P.
struct ReleaseLoss {
  std::vector<double> loss, mass;                     // points of it, for estimates only
  std::function<DirectionGrid(double spacing)> grid;  // both of its distributions, for any spacing > 0
  // Masses are weighted by e^(tilt * loss), which a largest loss with a mass of its own would leave nothing
  // beside.
  std::optional<double> most_tilt = {};
};

struct LossBracket {
  double lower = 0;                                        // no epsilon below it holds at delta
  double upper = std::numeric_limits<double>::infinity();  // holds at delta; infinity where nothing is proven
  double spacing = 0;                                      // of the grid of losses
  std::int64_t points = 0;                                 // of the transform
};

// What is enough to stop refining: an upper bound that another one exceeds, or a narrow bracket.
struct RefinementGoal {
  double upper = 0;
  double width = 1e-3;  // relative
};

// Of `steps` >= 1 releases at delta in (0, 1). The window and the spacing are estimated, `precision` (relative) being
// what the grid may add to epsilon; the grid is refined until that is enough.
[[nodiscard]] LossBracket BracketSum(const ReleaseLoss& release, std::int64_t steps, double delta, double precision,
                                     const RefinementGoal& enough);

}  // namespace retort::privacy
