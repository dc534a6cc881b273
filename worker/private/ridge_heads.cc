#include "worker/private/ridge_heads.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cholesky_solve.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/one_hot.h>

#include "experiments/spec/status.h"

namespace retort::worker {
namespace {

// (a a^T + strength I)^-1 b, a [n, m].
at::Tensor Solved(const at::Tensor& a, const at::Tensor& b, double strength) {
  const at::Tensor gram = at::matmul(a, a.t()) + at::eye(a.size(0), at::kDouble) * strength;
  return at::cholesky_solve(b, at::linalg_cholesky(gram));
}

}  // namespace

at::Tensor RidgeHead(const at::Tensor& features, const at::Tensor& labels, std::int64_t classes, double strength) {
  RETORT_CHECK(features.size(0) >= 1 && strength > 0);
  const at::NoGradGuard no_grad;
  const at::Tensor x = features.cpu().to(at::kDouble);
  const at::Tensor y = at::one_hot(labels.cpu(), classes).to(at::kDouble) - 1.0 / static_cast<double>(classes);
  const at::Tensor solution = x.size(0) <= x.size(1) ? at::matmul(x.t(), Solved(x, y, strength))
                                                     : Solved(x.t(), at::matmul(x.t(), y), strength);
  return solution.t().contiguous().to(at::kFloat);
}

}  // namespace retort::worker
