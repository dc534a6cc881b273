// Gradients at the student's logits, which the mechanisms of this folder bound and then noise.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/methods/trial_spec.h"
#include "worker/release/lattice.h"

namespace retort::worker::release {

// How two rows of logits become a gradient of norm C at most.
struct GradientRule {
  DistillationLoss loss = DistillationLoss::dkd;
  double alpha = 1, beta = 8;  // DKD: TCKD and NCKD weights
  double temperature = 1;
  GradientOf gradient_of = GradientOf::logits;
  std::int64_t top_k = 0;  // entries of a row (mask_over: of the batch) that are kept, the largest; 0: all
  MaskBy mask_by = MaskBy::magnitude;
  MaskOver mask_over = MaskOver::row;  // batch: with normalization frobenius alone
  Normalization normalization = Normalization::row;
  double norm_bound = 1e-3;  // C > 0
  double floor = 1e-4;       // e in C g / (|g| + e)
  bool operator==(const GradientRule&) const = default;
};

// How a member of an ensemble answers: by the rule, on the lattice of a noise of sigma norm bounds.
struct MemberRule {
  GradientRule rule;
  double sigma = 100;
  bool operator==(const MemberRule&) const = default;
};

// The rules that the trial's keys ask for.
[[nodiscard]] GradientRule MakeGradientRule(const TrialSpec& spec);
[[nodiscard]] MemberRule ChooseMemberRule(const TrialSpec& spec);

// d loss / d student logits for every row, in closed form: [rows, classes] f32, each row sums to zero.
// DKD (Zhao et al. 2022, eq. 7) with target r = argmax of the teacher:
//   T [ alpha (p_r - t_r)(e_r - p^) + beta (p^ - t^) ],
// p, t softmax at temperature T of student and teacher; p^, t^ the same over the classes other than r.
[[nodiscard]] at::Tensor ComputeDistillationGradient(DistillationLoss loss, const at::Tensor& student_logits,
                                                     const at::Tensor& teacher_logits, double alpha, double beta,
                                                     double temperature);

// Probabilities that are divided by are no smaller than this, and no larger than 1 less this.
inline constexpr double kMinDivisor = 1e-7;

// d loss / d student probabilities for every row, each of them as if it were free: [rows, classes]. With v the result,
// ComputeDistillationGradient is p (v - <p, v>) / T. Of dkd the others share out what they sum to, and 1 - p_r is that
// of p_r; of dkd_printed (DPSD, eq. 2) with target r:
//   alpha (-t_r / p_r + (1 - t_r) / (1 - p_r)) at r,  -beta t_j / ((1 - t_j) p_j (1 - p_j)) at j.
[[nodiscard]] at::Tensor ComputeProbabilityGradient(DistillationLoss loss, const at::Tensor& student_logits,
                                                    const at::Tensor& teacher_logits, double alpha, double beta,
                                                    double temperature);

// C g / (|g| + e) by row or batch, or C g / max(|g|, C) for clip. [rows, classes] -> same shape.
[[nodiscard]] at::Tensor NormaliseGradient(const at::Tensor& gradient, Normalization normalization, double norm_bound,
                                           double floor);

// Each row, or the batch, with all but its k entries of largest magnitude or value zeroed, equal ones from the left
// (DPSD, M_k in eq. 3); k = 0: as it is. Which entries stay depends on the teacher, so that noise has to cover all of
// them.
[[nodiscard]] at::Tensor KeepLargest(const at::Tensor& gradient, std::int64_t k, MaskBy by = MaskBy::magnitude,
                                     MaskOver over = MaskOver::row);

// The masked gradient, and the same bounded, with its graph: all [rows, classes] f32.
[[nodiscard]] at::Tensor ComputeOutputGradient(const GradientRule& rule, const at::Tensor& student_logits,
                                               const at::Tensor& teacher_logits);
[[nodiscard]] at::Tensor ComputeBoundedGradient(const GradientRule& rule, const at::Tensor& student_logits,
                                                const at::Tensor& teacher_logits);
// The bounded gradient on the lattice: f64 [rows, classes] in steps, without a graph. A row that is not finite,
// whatever made it so, is zeros (over the batch: all rows).
[[nodiscard]] at::Tensor ComputeLatticeGradient(const GradientRule& rule, const Lattice& lattice,
                                                const at::Tensor& student_logits, const at::Tensor& teacher_logits);

// Post-processing, which costs no privacy: steps that several readings share.

// Each row less its mean: the span in which softmax gradients lie. [rows, classes] f32.
[[nodiscard]] at::Tensor SubtractRowMean(const at::Tensor& values);

// y = p - gamma SubtractRowMean(g~) with p = softmax(student_logits) at release, gamma = kappa / C. The rows
// sum to one; entries may be negative. All [rows, classes] f32. Keeps the graph of what it is given:
// pass detached logits (released gradients are detached unless detach = false was asked for).
[[nodiscard]] at::Tensor ComputeSoftTarget(const at::Tensor& student_logits, const at::Tensor& released, double gamma);

}  // namespace retort::worker::release
