// What a model's prediction and a released label say together. Post-processing: no private label comes here.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

// RRWithPrior (Ghazi et al. 2021, algorithm 2): of each row of the prior p the k most probable classes, where k
// maximises the probability that randomised response over them tells the truth, e^e0 / (e^e0 + k - 1) times their
// sum; the least such k. Equal priors: the lower class first. prior f32 [rows, classes] -> bool [rows, classes].
[[nodiscard]] at::Tensor BestCandidates(const at::Tensor& prior, double epsilon0);

// Whether each row's label i64 [rows] is among the row's `count` (1 to classes) most probable classes: bool [rows].
[[nodiscard]] at::Tensor AmongBest(const at::Tensor& prior, const at::Tensor& labels, std::int64_t count);

// ALIBI (Malek et al. 2021): P(label = c | noisy) for noisy = onehot(label) + Laplace(scale)^classes and a prior:
// softmax over c of log_prior_c - |noisy - onehot(c)|_1 / scale. All f32 [rows, classes].
[[nodiscard]] at::Tensor LaplacePosterior(const at::Tensor& noisy, const at::Tensor& log_prior, double scale);

}  // namespace retort::worker
