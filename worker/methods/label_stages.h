// How the private examples are spread over the stages of label-private training.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace retort::worker {

// Where each stage's part of `examples` rows ends, rising to `examples`: parts as equal as they can be, those that the
// plan charges. 1 <= stages <= examples.
[[nodiscard]] std::vector<std::int64_t> StageEnds(std::int64_t examples, std::int64_t stages);

// Whether each of 0..n-1 stands in `rows` i64 [n] once: counted, so that no label leaves twice.
[[nodiscard]] bool EachRowOnce(const at::Tensor& rows);

}  // namespace retort::worker
