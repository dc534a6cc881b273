// Gradients of examples of which a step sees several augmented copies (De, Berrada, Hayes, Smith and Balle 2022).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "experiments/spec/status.h"
#include "worker/models/network.h"
#include "worker/rng_streams.h"

namespace retort::worker {

struct CopiedRows {
  at::Tensor rows;          // i64 [k], of the private examples
  at::Tensor labels;        // i64 [k]
  std::int64_t copies = 1;  // of each
};

// The images of these rows at these places of their step.
using ImagesOf = std::function<Result<at::Tensor>(const at::Tensor& rows, const RowPlaces& places)>;

// Every row's gradient (PerSampleGradients), the mean over its copies: f32 [k, parameter_count]. Copy c of private example
// i is the image at place i * copies + c, whichever examples the step sampled: were it to depend on them, one of them would
// change all others' images. One example's mean stays one row, which is clipped once: what an example can
// change in a step's sum is what it could without copies. `most` gradients are held at once besides the result:
// k * copies is at most that, or k is 1. Error: that of the images.
[[nodiscard]] Result<at::Tensor> MeanGradients(const Network& network, const CopiedRows& sample, std::int64_t most,
                                               const ImagesOf& images);

}  // namespace retort::worker
