// What says which pictures are alike.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/status.h"
#include "worker/data/dataset.h"

namespace retort::worker {

// Pictures whose longer side has more pixels are averaged down to it: likeness needs no more.
inline constexpr std::int64_t kMostOrientedSide = 64;

// Whitened oriented gradients, those of the frozen layers of "hog-linear": f32 [examples, values], on the data set's
// device. A row is a function of its own example: the constants are the code's, not fitted to `data`, which says the
// shape of a picture alone. Errors: of decoding, and of shapes that such a network cannot have.
[[nodiscard]] Result<at::Tensor> OrientedFeatures(const Dataset& data, const Examples& examples);

}  // namespace retort::worker
