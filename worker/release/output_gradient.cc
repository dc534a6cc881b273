#include "worker/release/output_gradient.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "experiments/base/status.h"

namespace retort::worker::release {

at::Tensor SubtractRowMean(const at::Tensor& values) { return values - values.mean(-1, true); }

at::Tensor ComputeSoftTarget(const at::Tensor& student_logits, const at::Tensor& released, double gamma) {
  return student_logits.softmax(-1) - gamma * SubtractRowMean(released);
}

namespace {

// As ComputeDistillationGradient with DistillationLoss::dkd, without a graph. student_logits, teacher_logits:
// [rows, classes], f32 or f64, of the same type and device, classes >= 2; the result lies where they do.
// Tensors of another device than the CPU are copied here and back.
[[nodiscard]] at::Tensor ComputeDkdGradient(const at::Tensor& student_logits, const at::Tensor& teacher_logits,
                                            double alpha, double beta, double temperature);

constexpr std::int64_t kGrain = 8192;  // logits of one thread at least

// other[c] = softmax over the classes but `target`, 0 there. Returns 1 - softmax(logits)[target], as a sum of
// the others and without subtraction: exact also where the label is all but certain.
template <typename T>
T Decouple(const T* logits, std::int64_t classes, std::int64_t target, T temperature, T* other) {
  T highest = -std::numeric_limits<T>::infinity();
  for (std::int64_t c = 0; c < classes; ++c) {
    if (c != target) highest = std::max(highest, logits[c]);
  }
  T sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    other[c] = c == target ? T(0) : std::exp((logits[c] - highest) / temperature);
    sum += other[c];
  }
  for (std::int64_t c = 0; c < classes; ++c) other[c] /= sum;
  const T lead = (logits[target] - highest) / temperature;
  if (lead < 0) return T(1) / (T(1) + std::exp(lead) / sum);
  const T odds = sum * std::exp(-lead);
  return odds / (T(1) + odds);
}

template <typename T>
struct Weights {
  T alpha, beta, temperature;
};

template <typename T>
void Row(const T* student, const T* teacher, std::int64_t classes, const Weights<T>& weights, T* told, T* gradient) {
  const std::int64_t target = std::max_element(teacher, teacher + classes) - teacher;
  const T t = Decouple(teacher, classes, target, weights.temperature, told);
  const T p = Decouple(student, classes, target, weights.temperature, gradient);
  const T pull = weights.temperature * weights.alpha * (t - p);
  const T spread = weights.temperature * weights.beta;
  for (std::int64_t c = 0; c < classes; ++c) {
    const T own = gradient[c];
    gradient[c] = pull * ((c == target ? T(1) : T(0)) - own) + spread * (own - told[c]);
  }
}

at::Tensor ComputeDkdGradient(const at::Tensor& student_logits, const at::Tensor& teacher_logits, double alpha,
                              double beta, double temperature) {
  RETORT_CHECK(student_logits.dim() == 2 && student_logits.sizes() == teacher_logits.sizes());
  RETORT_CHECK(student_logits.scalar_type() == teacher_logits.scalar_type() && student_logits.size(1) >= 2);
  const at::Tensor student = student_logits.cpu().contiguous(), teacher = teacher_logits.cpu().contiguous();
  const at::Tensor gradient = at::empty_like(student);
  const std::int64_t rows = student.size(0), classes = student.size(1);
  AT_DISPATCH_FLOATING_TYPES(student.scalar_type(), "dkd_rows", [&] {
    const Weights<scalar_t> weights{static_cast<scalar_t>(alpha), static_cast<scalar_t>(beta),
                                    static_cast<scalar_t>(temperature)};
    const auto* s = student.const_data_ptr<scalar_t>();
    const auto* t = teacher.const_data_ptr<scalar_t>();
    auto* g = gradient.data_ptr<scalar_t>();
    at::parallel_for(0, rows, kGrain / classes + 1, [&](std::int64_t first, std::int64_t last) {
      std::vector<scalar_t> told(static_cast<std::size_t>(classes));
      for (std::int64_t i = first * classes; i < last * classes; i += classes)
        Row(s + i, t + i, classes, weights, told.data(), g + i);
    });
  });
  return gradient.to(student_logits.device());
}

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

GradientRule MakeGradientRule(const TrialSpec& spec) {
  GradientRule rule;
  rule.loss = spec.distill.loss;
  rule.alpha = spec.distill.dkd_alpha;
  rule.beta = spec.distill.dkd_beta;
  rule.temperature = spec.distill.temperature;
  rule.gradient_of = spec.release.gradient_of;
  rule.top_k = spec.release.top_k;
  rule.mask_by = spec.release.mask_by;
  rule.mask_over = spec.release.mask_over;
  rule.normalization = spec.release.normalization;
  rule.norm_bound = spec.release.norm_bound;
  rule.floor = spec.release.normalization_floor;
  return rule;
}

MemberRule ChooseMemberRule(const TrialSpec& spec) { return {MakeGradientRule(spec), spec.release.sigma}; }

at::Tensor ComputeDistillationGradient(DistillationLoss loss, const at::Tensor& student_logits,
                                       const at::Tensor& teacher_logits, double alpha, double beta,
                                       double temperature) {
  const bool graph = at::GradMode::is_enabled() && (student_logits.requires_grad() || teacher_logits.requires_grad());
  if (loss == DistillationLoss::dkd && !graph && !student_logits.is_cuda())
    return ComputeDkdGradient(student_logits, teacher_logits, alpha, beta, temperature);
  if (loss == DistillationLoss::dkd_printed) {
    const at::Tensor v = ComputeProbabilityGradient(loss, student_logits, teacher_logits, alpha, beta, temperature);
    const at::Tensor p = (student_logits / temperature).softmax(-1);
    return p * (v - (p * v).sum(-1, true)) / temperature;
  }
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

namespace {

at::Tensor Divisor(const at::Tensor& p) { return p.clamp(kMinDivisor, 1 - kMinDivisor); }

// What dkd and dkd_printed say at the target: [rows, 1] of probabilities and their remainders, the same of both sides.
at::Tensor TargetTerm(const at::Tensor& p_rest, const at::Tensor& t_rest) {
  return t_rest / p_rest.clamp_min(kMinDivisor) - (1 - t_rest) / (1 - p_rest).clamp_min(kMinDivisor);
}

}  // namespace

at::Tensor ComputeProbabilityGradient(DistillationLoss loss, const at::Tensor& student_logits,
                                      const at::Tensor& teacher_logits, double alpha, double beta, double temperature) {
  const at::Tensor label = teacher_logits.argmax(-1, true);
  const at::Tensor target = at::zeros_like(teacher_logits, at::kBool).scatter_(-1, label, true);
  if (loss == DistillationLoss::ce_hard)
    return -target.to(student_logits.scalar_type()) / Divisor(student_logits.softmax(-1));
  const at::Tensor student = student_logits / temperature, teacher = teacher_logits / temperature;
  const at::Tensor p = student.softmax(-1), t = teacher.softmax(-1);
  const double scale = temperature * temperature;
  if (loss == DistillationLoss::kd) return -scale * t / Divisor(p);
  const Decoupled ours = Decouple(student, target), theirs = Decouple(teacher, target);
  const at::Tensor at_target = alpha * TargetTerm(ours.remainder, theirs.remainder);
  const at::Tensor elsewhere =
      loss == DistillationLoss::dkd
          ? beta * (ours.remainder.clamp_min(kMinDivisor).reciprocal() - theirs.other / Divisor(p))
          : -beta * t / ((1 - t).clamp_min(kMinDivisor) * Divisor(p) * (1 - p).clamp_min(kMinDivisor));
  return scale * at::where(target, at_target, elsewhere);
}

at::Tensor NormaliseGradient(const at::Tensor& gradient, Normalization normalization, double norm_bound, double floor) {
  if (normalization == Normalization::frobenius) {
    return norm_bound * gradient / (gradient.norm() + floor);
  }
  const at::Tensor norm = gradient.norm(2, -1, true);
  if (normalization == Normalization::clip) return gradient * (norm_bound / norm.clamp_min(norm_bound));
  return norm_bound * gradient / (norm + floor);
}

at::Tensor KeepLargest(const at::Tensor& gradient, std::int64_t k, MaskBy by, MaskOver over) {
  if (over == MaskOver::batch && gradient.dim() > 1) return KeepLargest(gradient.flatten(), k, by).view_as(gradient);
  if (k == 0 || k >= gradient.size(-1)) return gradient;
  const at::Tensor fixed = gradient.detach();
  const at::Tensor sizes = by == MaskBy::magnitude ? fixed.abs() : fixed;
  const at::Tensor order = std::get<1>(sizes.sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true));
  return gradient * at::zeros_like(fixed).scatter_(-1, order.narrow(-1, 0, k), 1.0);
}

at::Tensor ComputeOutputGradient(const GradientRule& rule, const at::Tensor& student_logits,
                                 const at::Tensor& teacher_logits) {
  const auto differentiate =
      rule.gradient_of == GradientOf::logits ? ComputeDistillationGradient : ComputeProbabilityGradient;
  const at::Tensor gradient =
      differentiate(rule.loss, student_logits, teacher_logits, rule.alpha, rule.beta, rule.temperature);
  return rule.top_k == 0 ? gradient : KeepLargest(gradient, rule.top_k, rule.mask_by, rule.mask_over);
}

at::Tensor ComputeBoundedGradient(const GradientRule& rule, const at::Tensor& student_logits,
                                  const at::Tensor& teacher_logits) {
  return NormaliseGradient(ComputeOutputGradient(rule, student_logits, teacher_logits), rule.normalization,
                           rule.norm_bound, rule.floor);
}

at::Tensor ComputeLatticeGradient(const GradientRule& rule, const Lattice& lattice, const at::Tensor& student_logits,
                                  const at::Tensor& teacher_logits) {
  const at::NoGradGuard no_grad;
  const at::Tensor gradient = ComputeOutputGradient(rule, student_logits, teacher_logits).to(at::kDouble);
  const bool whole = rule.normalization == Normalization::frobenius;
  const double target = lattice.ComputeTarget(whole ? gradient.numel() : gradient.size(-1));
  const at::Tensor norm = whole ? gradient.norm() : gradient.norm(2, -1, true);
  const at::Tensor factor = rule.normalization == Normalization::clip ? (target / norm).clamp_max(1 / lattice.step)
                                                                      : target / (norm + rule.floor);
  return RoundAndBound(gradient * factor, lattice.longest, whole);
}

}  // namespace retort::worker::release
