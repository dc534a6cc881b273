#include "worker/distill/response_targets.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace retort::worker {
namespace {

constexpr double kLeast = 1e-30;  // of a probability that is divided by

}  // namespace

at::Tensor AnnotateResponses(const at::Tensor& answers, const at::Tensor& candidates, std::int64_t members) {
  return (answers.to(at::kFloat) / static_cast<double>(members)).masked_fill_(candidates.logical_not(), -1);
}

at::Tensor ExpectedClasses(const at::Tensor& log_p, const at::Tensor& annotation, double epsilon0) {
  const at::NoGradGuard no_grad;
  const at::Tensor inside = annotation.ge(0).to(at::kFloat), shares = annotation.clamp_min(0), p = log_p.exp();
  const at::Tensor k = inside.sum(1, true);
  // Q(y | r): `kept` for r = y, `other` for another candidate r, 1 / k for r outside.
  const double shrink = std::exp(-epsilon0);
  const at::Tensor kept = 1 / (1 + (k - 1) * shrink), other = kept * shrink;
  const at::Tensor in = (p * inside).sum(1, true), out = (p * (1 - inside)).sum(1, true);
  const at::Tensor seen = (p * (kept - other) + in * other + out / k).clamp_min(kLeast);  // sum_s p_s Q(y | s)
  const at::Tensor weight = shares / seen;
  return p * (weight * (kept - other) + weight.sum(1, true) * (inside * other + (1 - inside) / k));
}

}  // namespace retort::worker
