// A training batch as a trial's keys want it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "worker/data/examples.h"
#include "worker/rng_streams.h"

namespace retort::worker {

// Rows `rows` (i64 [k]) of `examples`, normalised by `scale`, augmented by spec.augment and spec.shift:
// f32 [k, C, H, W]. `places`: theirs in the whole batch of `step`, so that a gang's members see what one alone would
// (AugmentedBatch). Error: that of decoding a picture.
// `seed`: none, the trial's.
[[nodiscard]] Result<at::Tensor> TrainingImages(const TrialSpec& spec, const PixelScale& scale,
                                                const Examples& examples, const at::Tensor& rows,
                                                std::int64_t step, const RowPlaces& places,
                                                std::optional<std::uint64_t> seed = std::nullopt);

}  // namespace retort::worker
