#include "worker/methods/label_stages.h"

#include <algorithm>
#include <cmath>

#include "experiments/spec/status.h"

namespace retort::worker {

std::vector<std::int64_t> StageEnds(std::int64_t examples, std::int64_t stages, double first) {
  RETORT_CHECK(stages >= 1 && stages <= examples && first > 0 && first < 1);
  if (stages == 1) return {examples};
  const auto wanted = static_cast<std::int64_t>(std::llround(first * static_cast<double>(examples)));
  const std::int64_t begin = std::clamp<std::int64_t>(wanted, 1, examples - (stages - 1));
  std::vector<std::int64_t> ends;
  for (std::int64_t s = 0; s < stages; ++s) ends.push_back(begin + (examples - begin) * s / (stages - 1));
  return ends;
}

}  // namespace retort::worker
