#include "worker/release/output_gradient.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "worker/release/dkd_rows.h"

namespace retort::worker::release {
namespace {

// Log-probabilities and what DKD needs of them, for one side.
struct Decoupled {
  at::Tensor other;      // [rows, classes]: softmax over the classes other than r, 0 at r
  at::Tensor remainder;  // [rows, 1]: 1 - p_r, from log-sums and without subtraction
};

Decoupled Decouple(const at::Tensor& logits, const at::Tensor& target) {
  const at::Tensor masked = logits.masked_fill(target, -1e30);
  const at::Tensor other_sum = masked.logsumexp(-1, true);
  return {masked.softmax(-1), (other_sum - logits.logsumexp(-1, true)).exp()};
}

}  // namespace

GradientRule RuleOf(const TrialSpec& spec) {
  GradientRule rule;
  rule.loss = spec.loss;
  rule.alpha = spec.dkd_alpha;
  rule.beta = spec.dkd_beta;
  rule.temperature = spec.temperature;
  rule.top_k = spec.top_k;
  rule.normalization = spec.normalization;
  rule.norm_bound = spec.norm_bound;
  rule.floor = spec.normalization_floor;
  return rule;
}

MemberRule MemberRuleOf(const TrialSpec& spec) { return {RuleOf(spec), spec.sigma}; }

at::Tensor DistillationGradient(DistillationLoss loss, const at::Tensor& student_logits,
                                const at::Tensor& teacher_logits, double alpha, double beta,
                                double temperature) {
  const bool graph =
      at::GradMode::is_enabled() && (student_logits.requires_grad() || teacher_logits.requires_grad());
  if (loss == DistillationLoss::dkd && !graph && !student_logits.is_cuda())
    return DkdRows(student_logits, teacher_logits, alpha, beta, temperature);
  const at::Tensor label = teacher_logits.argmax(-1);
  const std::int64_t classes = teacher_logits.size(-1);
  if (loss == DistillationLoss::ce_hard) {
    return student_logits.softmax(-1) - at::one_hot(label, classes).to(student_logits.dtype());
  }
  const bool tempered = temperature != 1;
  const at::Tensor student = tempered ? student_logits / temperature : student_logits;
  const at::Tensor teacher = tempered ? teacher_logits / temperature : teacher_logits;
  if (loss == DistillationLoss::kd) return temperature * (student.softmax(-1) - teacher.softmax(-1));
  const at::Tensor target = at::zeros_like(teacher_logits, at::kBool).scatter_(-1, label.unsqueeze(-1), true);
  const Decoupled p = Decouple(student, target);
  const Decoupled t = Decouple(teacher, target);
  // p_r - t_r = (1 - t_r) - (1 - p_r), exact also where both labels are all but certain.
  const at::Tensor target_part = (t.remainder - p.remainder) * (target.to(student.dtype()) - p.other);
  return temperature * (alpha * target_part + beta * (p.other - t.other));
}

at::Tensor NormaliseGradient(const at::Tensor& gradient, Normalization normalization, double norm_bound,
                             double floor) {
  if (normalization == Normalization::frobenius) {
    return norm_bound * gradient / (gradient.norm() + floor);
  }
  const at::Tensor norm = gradient.norm(2, -1, true);
  if (normalization == Normalization::clip) return gradient * (norm_bound / norm.clamp_min(norm_bound));
  return norm_bound * gradient / (norm + floor);
}

at::Tensor KeepLargest(const at::Tensor& gradient, std::int64_t k) {
  if (k == 0 || k >= gradient.size(-1)) return gradient;
  const at::Tensor fixed = gradient.detach();
  const at::Tensor order = std::get<1>(fixed.abs().sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true));
  return gradient * at::zeros_like(fixed).scatter_(-1, order.narrow(-1, 0, k), 1.0);
}

at::Tensor OutputGradient(const GradientRule& rule, const at::Tensor& student_logits,
                          const at::Tensor& teacher_logits) {
  const at::Tensor gradient = DistillationGradient(rule.loss, student_logits, teacher_logits, rule.alpha, rule.beta,
                                                   rule.temperature);
  return rule.top_k == 0 ? gradient : KeepLargest(gradient, rule.top_k);
}

at::Tensor BoundedGradient(const GradientRule& rule, const at::Tensor& student_logits,
                           const at::Tensor& teacher_logits) {
  return NormaliseGradient(OutputGradient(rule, student_logits, teacher_logits), rule.normalization, rule.norm_bound,
                           rule.floor);
}

at::Tensor LatticeGradient(const GradientRule& rule, const Lattice& lattice, const at::Tensor& student_logits,
                           const at::Tensor& teacher_logits) {
  const at::NoGradGuard no_grad;
  const at::Tensor gradient = OutputGradient(rule, student_logits, teacher_logits).to(at::kDouble);
  const bool whole = rule.normalization == Normalization::frobenius;
  const double target = lattice.TargetOf(whole ? gradient.numel() : gradient.size(-1));
  const at::Tensor norm = whole ? gradient.norm() : gradient.norm(2, -1, true);
  const at::Tensor factor = rule.normalization == Normalization::clip ? (target / norm).clamp_max(1 / lattice.step)
                                                                      : target / (norm + rule.floor);
  return RoundAndBound(gradient * factor, lattice.longest, whole);
}

}  // namespace retort::worker::release
