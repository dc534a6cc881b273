// How label-private training divides the private examples into stages.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/base/status.h"
#include "worker/models/ensemble.h"

namespace retort::worker {

// Where each stage's part of `examples` rows ends, rising to `examples`: parts as equal as they can be, those that the
// plan charges. 1 <= stages <= examples.
[[nodiscard]] inline std::vector<std::int64_t> ComputeStageEnds(std::int64_t examples, std::int64_t stages) {
  RETORT_CHECK(stages >= 1 && stages <= examples);
  std::vector<std::int64_t> ends;
  for (std::int64_t stage = 1; stage <= stages; ++stage) ends.push_back(examples * stage / stages);
  return ends;
}

// Whether each of 0..n-1 is in `rows` i64 [n] once: counted, so that no label is released twice.
[[nodiscard]] inline bool IsEachRowOnce(const at::Tensor& rows) {
  return CheckDisjoint(rows.cpu().unsqueeze(0), rows.numel()).ok();
}

}  // namespace retort::worker
