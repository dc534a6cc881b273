// Which classes randomised response may answer for a row, by the student alone. Of equally likely classes the lower
// one goes first.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/trial_spec.h"

namespace retort::worker {

// Every class with a probability above `threshold`, and in any case the two most likely ones (DP-DFD Algorithm 1).
// probabilities f32 [rows, classes], classes >= 2 -> bool of the same shape.
[[nodiscard]] at::Tensor LikelyCandidates(const at::Tensor& probabilities, double threshold);

// The k most likely classes (DPSD). scores f32 [rows, classes], logits or probabilities; 1 <= k <= classes -> bool
// of the same shape, k of them in each row.
[[nodiscard]] at::Tensor TopCandidates(const at::Tensor& scores, std::int64_t k);

// Those that the trial asks for: top_k, or where it is 0 the threshold's (0: 1 / (2 classes)). logits f32
// [rows, classes] of the student -> bool of the same shape.
[[nodiscard]] at::Tensor CandidatesOf(const TrialSpec& spec, const at::Tensor& logits);

}  // namespace retort::worker
