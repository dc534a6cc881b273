// Learning rates and gradient steps over a trial.
#pragma once

#include <cstdint>

namespace retort::worker {

// Factor on the learning rate at `step` of `total`: 1 for the first `hold` of the steps, then linear to
// `end`, reached at the last step. hold, end in [0, 1].
[[nodiscard]] double HoldThenLinear(std::int64_t step, std::int64_t total, double hold, double end);

// Linear from `first` at step 0 to `last` at step total - 1.
[[nodiscard]] double LinearBetween(std::int64_t step, std::int64_t total, double first, double last);

}  // namespace retort::worker
