// Whether a network treats each example of a batch by itself: clipping bounds an example's part in a gradient
// only where it does. Batch normalisation does not.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace retort::worker {

// Asks `forward` (f32 [2, ...] -> [2, classes]) about `images` f32 [3, ...], the first beside the second and
// beside the third: true when its answer is the same, bit for bit.
[[nodiscard]] bool ExamplesStayApart(const std::function<at::Tensor(const at::Tensor&)>& forward,
                                     const at::Tensor& images);

}  // namespace retort::worker
