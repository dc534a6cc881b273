// Learning rates and gradient steps over a trial.
#pragma once

#include <cstdint>

namespace retort::worker {

// Factor on the learning rate at `step` of `total`: 1 for the first `hold` of the steps, then linear to
// `end`, reached at the last step. hold, end in [0, 1].
[[nodiscard]] double HoldThenLinear(std::int64_t step, std::int64_t total, double hold, double end);

// The same, but for half a cosine instead of the line.
[[nodiscard]] double HoldThenCosine(std::int64_t step, std::int64_t total, double hold, double end);

// 10^-k behind the k-th of `drops` drops, which part the steps evenly. drops >= 0.
[[nodiscard]] double StepDown(std::int64_t step, std::int64_t total, std::int64_t drops);

// Linear from `first` at step 0 to `last` at step total - 1.
[[nodiscard]] double InterpolateLinearly(std::int64_t step, std::int64_t total, double first, double last);

}  // namespace retort::worker
