#include "worker/release/lattice.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "experiments/privacy/lattice_step.h"
#include "worker/noise/lattice_normal.h"
#include "worker/noise/lattice_pair.h"

namespace retort::worker::release {

Result<Lattice> Lattice::For(double norm_bound, double noise_std) {
  RETORT_CHECK(norm_bound > 0 && noise_std > 0);
  Lattice lattice;
  lattice.step = privacy::LatticeStep(norm_bound, noise_std);
  lattice.longest = std::floor(norm_bound / lattice.step);
  lattice.scale = noise_std / lattice.step;
  RETORT_RETURN_IF_ERROR(noise::CheckLatticeScale(lattice.scale));
  return lattice;
}

double Lattice::TargetOf(std::int64_t coordinates) const {
  return std::max(longest - std::sqrt(static_cast<double>(coordinates)) / 2 - 1, longest / 2);
}

at::Tensor Lattice::ToFloat(const at::Tensor& steps) const { return (steps * step).to(at::kFloat); }

at::Tensor RoundAndBound(const at::Tensor& steps, double longest, bool whole) {
  const at::NoGradGuard no_grad;
  const at::Tensor rounded = steps.round();
  const at::Tensor squares = rounded.square();
  const at::Tensor norms = whole ? squares.sum() : squares.sum(-1, /*keepdim=*/true);
  return at::where(norms <= noise::LongestSquare(longest), rounded, at::zeros({}, rounded.options()));
}

}  // namespace retort::worker::release
