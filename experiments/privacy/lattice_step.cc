#include "experiments/privacy/lattice_step.h"

#include <cmath>

namespace retort::privacy {

double LatticeStep(double norm_bound, double noise_std) {
  constexpr int kFinest = 29, kCoarsest = 16;
  constexpr double kPlainRatio = 128;
  int bits = kFinest;
  for (double ratio = noise_std / norm_bound; ratio > kPlainRatio && bits > kCoarsest; ratio /= 2) --bits;
  return std::ldexp(1.0, std::ilogb(norm_bound) - bits);
}

}  // namespace retort::privacy
