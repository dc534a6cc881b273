// How label-private training divides the private examples into stages.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace retort::worker {

// Where each stage's part of `examples` rows ends, rising to `examples`: parts as equal as they can be, those that the
// plan charges. 1 <= stages <= examples.
[[nodiscard]] std::vector<std::int64_t> ComputeStageEnds(std::int64_t examples, std::int64_t stages);

// Whether each of 0..n-1 is in `rows` i64 [n] once: counted, so that no label is released twice.
[[nodiscard]] bool IsEachRowOnce(const at::Tensor& rows);

}  // namespace retort::worker
