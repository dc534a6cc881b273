// Gradients at the student's logits: what the mechanisms of this folder bound, and then noise.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/trial_spec.h"
#include "worker/release/lattice.h"

namespace retort::worker::release {

// From two rows of logits to a row that is no longer than C.
struct GradientRule {
  DistillationLoss loss = DistillationLoss::dkd;
  double alpha = 1, beta = 8;  // DKD: TCKD and NCKD weights
  double temperature = 1;
  std::int64_t top_k = 0;      // entries of a row that are kept, the largest; 0: all
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

// What the trial asks for.
[[nodiscard]] GradientRule RuleOf(const TrialSpec& spec);
[[nodiscard]] MemberRule MemberRuleOf(const TrialSpec& spec);

// d loss / d student logits for every row, in closed form: [rows, classes] f32, each row sums to zero.
// DKD (Zhao et al. 2022, eq. 7) with target r = argmax of the teacher:
//   T [ alpha (p_r - t_r)(e_r - p^) + beta (p^ - t^) ],
// p, t softmax at temperature T of student and teacher; p^, t^ the same over the classes other than r.
[[nodiscard]] at::Tensor DistillationGradient(DistillationLoss loss, const at::Tensor& student_logits,
                                              const at::Tensor& teacher_logits, double alpha, double beta,
                                              double temperature);

// C g / (|g| + e) by row or batch, or C g / max(|g|, C) for clip. [rows, classes] -> same shape.
[[nodiscard]] at::Tensor NormaliseGradient(const at::Tensor& gradient, Normalization normalization,
                                           double norm_bound, double floor);

// Each row with all but its k entries of largest magnitude zeroed, equal ones from the left (DPSD, M_k in eq. 3);
// k = 0: as it is. Which entries stay tells about the teacher: noise has to cover all of them.
[[nodiscard]] at::Tensor KeepLargest(const at::Tensor& gradient, std::int64_t k);

// The masked gradient, and the same bounded, with its graph: all [rows, classes] f32.
[[nodiscard]] at::Tensor OutputGradient(const GradientRule& rule, const at::Tensor& student_logits,
                                        const at::Tensor& teacher_logits);
[[nodiscard]] at::Tensor BoundedGradient(const GradientRule& rule, const at::Tensor& student_logits,
                                         const at::Tensor& teacher_logits);
// The bounded gradient on the lattice: f64 [rows, classes] in steps, without a graph. A row that is not finite, whatever
// made it so, is zeros (over the batch: all rows).
[[nodiscard]] at::Tensor LatticeGradient(const GradientRule& rule, const Lattice& lattice,
                                         const at::Tensor& student_logits, const at::Tensor& teacher_logits);

}  // namespace retort::worker::release
