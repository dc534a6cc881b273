// Pictures made of two: blended (mixup, Zhang et al. 2018) or one patched with a box of the other (CutMix, Yun et al. 2019).
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/rng_streams.h"

namespace retort::worker {

// Row i of `a` and `b`, f32 [n, C, H, W] of one shape and device, by draws 0 to 3 of its lane of `rows`, each with
// probability 1/3: a alone; w a + (1 - w) b, w uniform; a with a box of b, its area uniform and its aspect the picture's.
// The same bits whatever rows are beside it.
[[nodiscard]] at::Tensor Mixed(const at::Tensor& a, const at::Tensor& b, const RowStream& rows);

}  // namespace retort::worker
