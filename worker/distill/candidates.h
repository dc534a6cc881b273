// Which classes randomised response may answer for a row, by the student alone. Of equally likely classes the lower
// one goes first.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/trial_spec.h"

namespace retort::worker {

// Every class with a probability above `threshold`, and in any case the `least` most likely ones; two of them are
// DP-DFD's Algorithm 1. probabilities f32 [rows, classes], 1 <= least <= classes -> bool of the same shape.
[[nodiscard]] at::Tensor LikelyCandidates(const at::Tensor& probabilities, double threshold, std::int64_t least = 2);

// The k most likely classes (DPSD). scores f32 [rows, classes], logits or probabilities; 1 <= k <= classes -> bool
// of the same shape, k of them in each row.
[[nodiscard]] at::Tensor TopCandidates(const at::Tensor& scores, std::int64_t k);

// Those that the trial asks for: the top_k likeliest, those above the threshold (where top_k = 0: of 0, 1 / (2
// classes)), or with both set whichever is in either. logits f32 [rows, classes] of the student -> bool of the same
// shape.
[[nodiscard]] at::Tensor CandidatesOf(const TrialSpec& spec, const at::Tensor& logits);

}  // namespace retort::worker
