// Targets from randomised responses: the candidates that may be answered, and what an answer says about the class
// behind it. Post-processing: reads released values, the student's predictions, and candidates chosen without the
// teacher.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/methods/trial_spec.h"

namespace retort::worker {

// Candidates are the classes that randomised response may answer for a row, chosen by the student alone. Of equally
// likely classes the lower one goes first.

// Every class with a probability above `threshold`, and in any case the `least` most likely ones; two of them are
// DP-DFD's Algorithm 1. probabilities f32 [rows, classes], 1 <= least <= classes -> bool of the same shape.
[[nodiscard]] at::Tensor SelectLikelyCandidates(const at::Tensor& probabilities, double threshold,
                                                std::int64_t least = 2);

// The k most likely classes (DPSD). scores f32 [rows, classes], logits or probabilities; 1 <= k <= classes -> bool
// of the same shape, k of them in each row.
[[nodiscard]] at::Tensor SelectTopCandidates(const at::Tensor& scores, std::int64_t k);

// Those that the trial asks for: the top_k likeliest, those above the threshold (where top_k = 0: of 0, 1 / (2
// classes)), or with both set whichever is in either. logits f32 [rows, classes] of the student -> bool of the same
// shape.
[[nodiscard]] at::Tensor ChooseCandidates(const TrialSpec& spec, const at::Tensor& logits);

// One tensor for both: the share of the `members` answers that each candidate got, and -1 for classes that were no
// candidates. answers [rows, classes] whole numbers, each row adding up to `members`, all of it on candidates;
// candidates bool of the same shape -> f32.
[[nodiscard]] at::Tensor AnnotateResponses(const at::Tensor& answers, const at::Tensor& candidates,
                                           std::int64_t members);

// The distribution of the teacher's class given the answers, by Bayes with the student as the prior: with p the
// student's probabilities, k candidates I, and Q(y | r) the law of an answer y about class r (randomized_response.h),
//   sum_y share_y  p_r Q(y | r) / sum_s p_s Q(y | s).
// p - this is the gradient at the student's logits of -sum_y share_y log sum_r p_r Q(y | r), the likelihood of the
// answers; classes outside I are not distinguished, and lose nothing for not having been candidates. With
// every class a candidate and a large epsilon0 it is the answer itself.
// log_p f32 [rows, classes] of the student; annotation as AnnotateResponses makes it -> f32 of the same shape.
[[nodiscard]] at::Tensor ComputeExpectedClasses(const at::Tensor& log_p, const at::Tensor& annotation, double epsilon0);

// The rest is for label differential privacy: a model's prediction is the prior of a released label.

// RRWithPrior (Ghazi et al. 2021, algorithm 2): of each row of the prior p the k most probable classes, where k
// maximises the probability that randomised response over them answers the true class, e^e0 / (e^e0 + k - 1) times
// their sum; the least such k. Equal priors: the lower class first. prior f32 [rows, classes] -> bool [rows, classes].
[[nodiscard]] at::Tensor ChooseBestCandidates(const at::Tensor& prior, double epsilon0);

// Whether each row's label i64 [rows] is among the row's `count` (1 to classes) most probable classes: bool [rows].
[[nodiscard]] at::Tensor IsAmongBest(const at::Tensor& prior, const at::Tensor& labels, std::int64_t count);

// ALIBI (Malek et al. 2021): P(label = c | noisy) for noisy = onehot(label) + Laplace(scale)^classes and a prior:
// softmax over c of log_prior_c - |noisy - onehot(c)|_1 / scale. All f32 [rows, classes].
[[nodiscard]] at::Tensor ComputeLaplacePosterior(const at::Tensor& noisy, const at::Tensor& log_prior, double scale);

}  // namespace retort::worker
