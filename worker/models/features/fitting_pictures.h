// Pictures that are nobody's, for what frozen layers are fitted to.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "worker/models/layer.h"

namespace retort::worker {

// f32 [count, channels, height, width] of mean 0 and deviation 1 over all: procedural strokes where there is one
// channel, half dead leaves and half 1/f noise where there are more. A function of the arguments alone: a public
// constant, the same for every trial.
[[nodiscard]] at::Tensor FittingPictures(std::int64_t count, const ImageShape& shape);

}  // namespace retort::worker
