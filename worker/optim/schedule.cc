#include "worker/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace retort::worker {

double HoldThenLinear(std::int64_t step, std::int64_t total, double hold, double end) {
  const double last = static_cast<double>(std::max<std::int64_t>(total - 1, 1));
  const double at = static_cast<double>(step) / last;
  if (at <= hold || hold >= 1) return 1;
  return 1 - (1 - end) * std::min(1.0, (at - hold) / (1 - hold));
}

double HoldThenCosine(std::int64_t step, std::int64_t total, double hold, double end) {
  const double line = HoldThenLinear(step, total, hold, 0);  // 1 to 0
  return end + (1 - end) * (1 - std::cos(std::numbers::pi * line)) / 2;
}

double StepDown(std::int64_t step, std::int64_t total, std::int64_t drops) {
  const std::int64_t parts = drops + 1;
  const double at = static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(total, 1));
  const auto done = static_cast<std::int64_t>(at * static_cast<double>(parts));
  return std::pow(10.0, -static_cast<double>(std::clamp<std::int64_t>(done, 0, drops)));
}

double InterpolateLinearly(std::int64_t step, std::int64_t total, double first, double last) {
  if (total <= 1) return first;
  const double at = static_cast<double>(step) / static_cast<double>(total - 1);
  return first + (last - first) * std::clamp(at, 0.0, 1.0);
}

}  // namespace retort::worker
