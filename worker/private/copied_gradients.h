// Gradients of examples of which a step sees several augmented copies (De, Berrada, Hayes, Smith and Balle 2022).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "experiments/spec/status.h"
#include "worker/models/network.h"

namespace retort::worker {

struct CopiedRows {
  at::Tensor rows;          // i64 [k], of the private examples
  at::Tensor labels;        // i64 [k]
  std::int64_t first = 0;   // place of rows[0] in its step's sample; the others follow
  std::int64_t copies = 1;  // of each
};

// The images of these rows, which are images first, first + 1, ... of their step.
using ImagesOf = std::function<Result<at::Tensor>(const at::Tensor& rows, std::int64_t first)>;

// Every row's gradient (PerSampleGradients), the mean over its copies: f32 [k, parameter_count]. Copy c of row i is image
// (first + i) * copies + c of the step. One example's mean stays one row, which is clipped once: what an example can
// change in a step's sum is what it could without copies. `most` gradients are held at once besides the result:
// k * copies is at most that, or k is 1. Error: that of the images.
[[nodiscard]] Result<at::Tensor> MeanGradients(const Network& network, const CopiedRows& sample, std::int64_t most,
                                               const ImagesOf& images);

}  // namespace retort::worker
