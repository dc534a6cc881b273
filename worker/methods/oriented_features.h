// What says which pictures are alike.
#pragma once

#include <ATen/core/Tensor.h>

#include "experiments/spec/status.h"
#include "worker/data/dataset.h"

namespace retort::worker {

// Whitened oriented gradients, those of the frozen layers of "hog-linear": f32 [examples, values], on the data set's
// device. A row is a function of its own example: the constants are the code's, not fitted to `data`, which says the
// shape of a picture alone. Errors: of decoding, and of shapes that such a network cannot have.
[[nodiscard]] Result<at::Tensor> OrientedFeatures(const Dataset& data, const Examples& examples);

}  // namespace retort::worker
