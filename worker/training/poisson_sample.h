// Poisson sampling: each example enters a batch independently. The subsampling of DP-SGD's accountant is
// true only while the choice is secret, so it comes from the operating system unless noise is seeded.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/methods/trial_spec.h"

namespace retort::worker {

// Indices i64 [k] of the examples chosen with probability `rate` each, ascending; the probability is exact to
// 64 bits. Secure: fresh at every call. Seeded: a function of (seed, step).
[[nodiscard]] at::Tensor DrawPoissonSample(std::int64_t examples, double rate, NoiseMode mode, std::uint64_t seed,
                                           std::int64_t step);

// What a step's augmentation is drawn by: from the operating system where the sample is, so that no place among the
// examples decides how one is augmented; else the seed itself.
[[nodiscard]] std::uint64_t ChooseAugmentationSeed(NoiseMode mode, std::uint64_t seed);

}  // namespace retort::worker
