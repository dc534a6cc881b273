#include "worker/training/ridge_regression.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cholesky_solve.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/zeros_like.h>

#include "experiments/base/status.h"

namespace retort::worker {
namespace {

// (a a^T + strength I)^-1 b, a [n, m].
at::Tensor Solved(const at::Tensor& a, const at::Tensor& b, double strength) {
  const at::Tensor gram = at::matmul(a, a.t()) + at::eye(a.size(0), at::kDouble) * strength;
  const auto [factor, failed] = at::linalg_cholesky_ex(gram);
  return failed.item<std::int32_t>() != 0 ? at::zeros_like(b) : at::cholesky_solve(b, factor);
}

}  // namespace

at::Tensor FitRidgeMap(const at::Tensor& features, const at::Tensor& targets, double strength) {
  RETORT_CHECK(features.size(0) >= 1 && strength > 0);
  const at::NoGradGuard no_grad;
  const at::Tensor x = features.cpu().to(at::kDouble), y = targets.cpu().to(at::kDouble);
  const bool dual = x.size(0) <= x.size(1);
  const at::Tensor solution = dual ? Solved(x, y, strength) : Solved(x.t(), at::matmul(x.t(), y), strength);
  const at::Tensor map = (dual ? at::matmul(x.t(), solution) : solution).t().contiguous().to(at::kFloat);
  // Zeros where there is no solution: an error would reveal something of one member's examples.
  return at::isfinite(map).all().item<bool>() ? map : at::zeros_like(map);
}

at::Tensor FitRidgeHead(const at::Tensor& features, const at::Tensor& labels, std::int64_t classes, double strength) {
  const at::Tensor hot = at::one_hot(labels.cpu(), classes).to(at::kDouble);
  return FitRidgeMap(features, hot - 1.0 / static_cast<double>(classes), strength);
}

}  // namespace retort::worker
