// Features by which images are compared, the same function for every data set and trial: fitted to
// public images that a procedure draws, to nothing of a data set.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

#include "experiments/base/status.h"
#include "experiments/methods/data_spec.h"
#include "worker/data/examples.h"

namespace retort::worker {

// Images whose longer side has more pixels are averaged down to it.
inline constexpr std::int64_t kMaxOrientedSide = 64;

// Whitened oriented gradients, those of the frozen layers of "hog-linear", for images of `shape`: f32 [examples,
// values], on `device`, where the examples are. A row is a function of its own example: the constants
// follow from the shape alone (FitFeatures). Errors: of decoding, and of shapes that such a network cannot have.
[[nodiscard]] Result<at::Tensor> ComputeOrientedFeatures(const ImageShape& shape, at::Device device,
                                                         const Examples& examples);

}  // namespace retort::worker
