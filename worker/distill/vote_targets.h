// What noisy vote histograms say about labels. Post-processing: reads released values only.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

// Mean difference between the votes of the right class and of another, as seen in the histograms themselves:
// for votes v = (u + gap, u, ..., u) in some order, sum_k (v_k - mean)^2 = gap^2 (c - 1) / c; the noise adds
// (c - 1) s^2 to its expectation. histograms i32 [rows, classes], `grain` >= 1 counts to a vote. Bounded
// below by a sixth of the members, the gap of members that are right one time in four among ten classes: a
// histogram of pure noise still gives nearly flat targets. Above by `members`, which one class alone has.
[[nodiscard]] double EstimateVoteGap(const at::Tensor& histograms, double noise, std::int64_t members,
                                     std::int64_t grain = 1);

// log p(label) up to a constant, uniform prior, votes v and noise N(0, s^2) in every count: H gap / s^2, with
// H in votes of `grain` counts. f32 [rows, classes].
[[nodiscard]] at::Tensor VoteEvidence(const at::Tensor& histograms, double gap, double noise,
                                      std::int64_t grain = 1);

// One-hot f32 [rows, classes] of the candidate with the most votes, of equal ones the first. candidates bool of the same
// shape, at least one in each row; undefined = every class.
[[nodiscard]] at::Tensor FirstVotes(const at::Tensor& histograms, const at::Tensor& candidates);

}  // namespace retort::worker
