#include "worker/optim/schedule.h"

#include <algorithm>

namespace retort::worker {

double HoldThenLinear(std::int64_t step, std::int64_t total, double hold, double end) {
  const double last = static_cast<double>(std::max<std::int64_t>(total - 1, 1));
  const double at = static_cast<double>(step) / last;
  if (at <= hold || hold >= 1) return 1;
  return 1 - (1 - end) * std::min(1.0, (at - hold) / (1 - hold));
}

double LinearBetween(std::int64_t step, std::int64_t total, double first, double last) {
  if (total <= 1) return first;
  const double at = static_cast<double>(step) / static_cast<double>(total - 1);
  return first + (last - first) * std::clamp(at, 0.0, 1.0);
}

}  // namespace retort::worker
