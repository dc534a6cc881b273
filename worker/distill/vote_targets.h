// Targets from noisy vote histograms. Post-processing: reads released values and public images only.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/base/status.h"

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
[[nodiscard]] at::Tensor ComputeVoteEvidence(const at::Tensor& histograms, double gap, double noise,
                                             std::int64_t grain = 1);

// One-hot f32 [rows, classes] of the candidate with the most votes, of equal ones the first. candidates bool of the
// same shape, at least one in each row; undefined = every class.
[[nodiscard]] at::Tensor PickMostVoted(const at::Tensor& histograms, const at::Tensor& candidates);

// Smooths released votes by a linear map of features, for images that form no clusters. Of features f32 [rows,
// values] of all images and what was released about the first of them, f32 [asked, classes] whose entries carry noise
// of standard deviation `noise` >= 0, what a ridge regression of the one on the other says about every image: f32
// [rows, classes], on the features' device. An entry counts by how far it lies from its row's mean. The strength is
// that of the posterior mean where every weight has the variance that explains what the entries vary beyond the noise,
// a little more: taking a row's mean away takes 1 / classes of the noise with it, which is not counted. A function of
// its arguments alone. Error: usage, where something is not finite.
[[nodiscard]] Result<at::Tensor> RegressVotes(const at::Tensor& features, const at::Tensor& released, double noise);

// Classes for a set of public images that is known to hold about equally many of each class: the first class of each
// row after a shift for each class, i64 [rows], on the scores' device. The shifts are those that share the rows out
// evenly: they minimise the mean over rows of T log sum_c exp((s_rc + b_c) / T), less the mean of b_c, for T a
// sixteenth of the scores' mean standard deviation within a row (class mass normalisation in its additive form; Zhu,
// Ghahramani and Lafferty 2003 scale each class). scores: finite, f32 or f64 [rows >= 1, classes >= 1], of any scale.
// Rows of equal scores all get the class that has the fewest. A function of its argument alone.
[[nodiscard]] at::Tensor AssignBalancedClasses(const at::Tensor& scores);

}  // namespace retort::worker
