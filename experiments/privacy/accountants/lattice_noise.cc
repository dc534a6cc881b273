#include "experiments/privacy/accountants/lattice_noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace retort::privacy {

double ComputeLatticeStep(double norm_bound, double noise_std) {
  constexpr int kFinest = 29, kCoarsest = 16;
  constexpr double kPlainRatio = 128;
  int bits = kFinest;
  for (double ratio = noise_std / norm_bound; ratio > kPlainRatio && bits > kCoarsest; ratio /= 2) --bits;
  return std::ldexp(1.0, std::ilogb(norm_bound) - bits);
}

namespace {

double Tail(double deviations) { return std::erfc(deviations / std::numbers::sqrt2) / 2; }

}  // namespace

double ComputeMissingMass(double draws, double coordinates, double shift, double reach) {
  // Of shifts of one length, that of one coordinate alone leaves out most: Tail(reach - sqrt(u)) is convex
  // where sqrt(u) (reach - sqrt(u)) > 1. Below that, sqrt(u) < 0.1.
  if (!(shift <= reach - 1)) return 1;
  const double moved = Tail(reach - shift), still = 2 * coordinates * Tail(reach - 0.1);
  return std::min(1.0, draws * (moved + still) * (1 + 1e-9));
}

}  // namespace retort::privacy
