#include "worker/training/frechet.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "experiments/base/status.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kFeatureRows = 4096;

struct Moments {
  at::Tensor mean;       // f64 [values]
  at::Tensor root;       // f64 [at most values, values]: root^T root is the covariance
  double variances = 0;  // trace of the covariance
};

// Rows first .. first + rows, in double on the CPU, less `mean`.
at::Tensor CentredRows(const at::Tensor& features, std::int64_t first, std::int64_t rows, const at::Tensor& mean) {
  return features.narrow(0, first, rows).cpu().to(at::kDouble) - mean;
}

at::Tensor Covariance(const at::Tensor& features, const at::Tensor& mean) {
  const std::int64_t rows = features.size(0), values = features.size(1);
  at::Tensor sum = at::zeros({values, values}, at::kDouble);
  for (std::int64_t first = 0; first < rows; first += kFeatureRows) {
    const at::Tensor part = CentredRows(features, first, std::min(kFeatureRows, rows - first), mean);
    sum += at::matmul(part.t(), part);
  }
  return sum / static_cast<double>(rows - 1);
}

Moments ComputeMoments(const at::Tensor& features) {
  const std::int64_t rows = features.size(0), values = features.size(1);
  Moments moments;
  moments.mean = features.mean(0, false, at::kDouble).cpu();
  if (rows <= values) {
    moments.root = CentredRows(features, 0, rows, moments.mean) / std::sqrt(static_cast<double>(rows - 1));
  } else {
    const auto [lengths, axes] = at::linalg_eigh(Covariance(features, moments.mean));
    moments.root = lengths.clamp_min(0).sqrt().unsqueeze(1) * axes.t();  // rounding alone makes a length negative
  }
  moments.variances = moments.root.square().sum().item<double>();
  return moments;
}

bool IsFinite(const at::Tensor& features) { return at::isfinite(features).all().item<bool>(); }

}  // namespace

double ComputeFrechetDistance(const at::Tensor& features, const at::Tensor& others) {
  RETORT_CHECK(features.dim() == 2 && others.dim() == 2 && features.size(1) == others.size(1));
  RETORT_CHECK(features.size(0) >= 2 && others.size(0) >= 2 && features.size(1) >= 1);
  const at::NoGradGuard no_grad;
  if (!IsFinite(features) || !IsFinite(others)) return std::numeric_limits<double>::quiet_NaN();
  const Moments a = ComputeMoments(features), b = ComputeMoments(others);
  // With S = A^T A and T = B^T B, the eigenvalues of S T are the squared singular values of A B^T.
  const double shared = at::linalg_svdvals(at::matmul(a.root, b.root.t())).sum().item<double>();
  const double apart = (a.mean - b.mean).square().sum().item<double>();
  return std::max(0.0, apart + a.variances + b.variances - 2 * shared);
}

}  // namespace retort::worker
