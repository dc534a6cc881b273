// A training batch as a trial's keys want it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "worker/data/examples.h"

namespace retort::worker {

// Rows `rows` (i64 [k]) of `examples`, normalised by `scale`, augmented by spec.augment and spec.shift:
// f32 [k, C, H, W]. They are rows first, first + 1, ... of the whole batch of `step`, so that a gang's members see
// what one alone would. Error: that of decoding a picture.
[[nodiscard]] Result<at::Tensor> TrainingImages(const TrialSpec& spec, const PixelScale& scale,
                                                const Examples& examples, const at::Tensor& rows,
                                                std::int64_t step, std::int64_t first);

// Whether TrainingImages are other images than the examples' own.
[[nodiscard]] bool ImagesVary(const TrialSpec& spec);

}  // namespace retort::worker
