#include "worker/models/features/whitening.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "experiments/base/status.h"
#include "worker/models/features/orientations.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

// Up to so many values the whole matrix is taken apart; of more, a subspace.
constexpr std::int64_t kDense = 1024;
// Directions beyond those asked for, and rounds, of a subspace iteration.
constexpr std::int64_t kSpareDirections = 64, kPowerIterations = 4;
constexpr std::uint64_t kWhiteningKey =
    0x7768697465;  // of the numbers that it starts from: public, the same for everybody

struct Directions {
  at::Tensor energy;   // f64 [kept], falling
  at::Tensor columns;  // f32 [values, kept], orthonormal
};

// The last columns of an ascending decomposition, largest first; each with its largest entry positive.
Directions Largest(const at::Tensor& energies, const at::Tensor& vectors, std::int64_t kept) {
  const std::int64_t all = energies.size(0);
  const at::Tensor columns = vectors.narrow(1, all - kept, kept).flip(1);
  const at::Tensor peak = std::get<1>(columns.abs().max(0, true));
  const at::Tensor sign = columns.gather(0, peak).sign();
  return {energies.narrow(0, all - kept, kept).flip(0).clamp_min(0), columns * sign};
}

at::Tensor Energy(const at::Tensor& rows) {
  return at::matmul(rows.t(), rows).to(at::kDouble) / static_cast<double>(rows.size(0));
}

Directions Dense(const at::Tensor& rows, std::int64_t kept) {
  const auto [energies, vectors] = at::linalg_eigh(Energy(rows));
  Directions found = Largest(energies, vectors, kept);
  found.columns = found.columns.to(at::kFloat);
  return found;
}

Directions Subspace(const at::Tensor& rows, std::int64_t kept) {
  const std::int64_t values = rows.size(1), wanted = std::min({kept + kSpareDirections, values, rows.size(0)});
  // the matrix itself where it is the smaller one
  const at::Tensor square = values <= rows.size(0) ? at::matmul(rows.t(), rows) : at::Tensor();
  at::Tensor basis = DrawNormalRows(values, wanted, RngStream(kWhiteningKey));
  for (std::int64_t round = 0; round < kPowerIterations; ++round) {
    const at::Tensor turned =
        square.defined() ? at::matmul(square, basis) : at::matmul(rows.t(), at::matmul(rows, basis));
    basis = std::get<0>(at::linalg_qr(turned));
  }
  const auto [energies, vectors] = at::linalg_eigh(Energy(at::matmul(rows, basis)));
  const Directions inside = Largest(energies, vectors, kept);
  return {inside.energy, at::matmul(basis, inside.columns.to(at::kFloat))};
}

}  // namespace

Whitening FitWhitening(const at::Tensor& samples, std::int64_t kept, double shrink) {
  RETORT_CHECK(kept >= 1 && kept <= samples.size(1) && kept <= samples.size(0));
  const at::NoGradGuard no_grad;
  Whitening fitted;
  fitted.mean = samples.mean(0);
  const at::Tensor rows = NormaliseRows(samples - fitted.mean, 1);
  const Directions found = samples.size(1) <= kDense ? Dense(rows, kept) : Subspace(rows, kept);
  const at::Tensor scale = (found.energy + found.energy.mean() * shrink).rsqrt().to(at::kFloat);
  fitted.components = (found.columns * scale).t().contiguous();
  return fitted;
}

at::Tensor WhitenRows(const at::Tensor& rows, const at::Tensor& mean, const at::Tensor& components, double bias) {
  const at::Tensor centred = NormaliseRows(rows - mean, 1);
  const at::Tensor projected = NormaliseRows(at::matmul(centred, components.t()), 1);
  return at::cat({projected, at::full_like(projected.narrow(1, 0, 1), bias)}, 1);
}

}  // namespace retort::worker
