#include "experiments/privacy/discrete_gaussian.h"

#include <algorithm>
#include <cmath>

namespace retort::privacy {

double DiscreteGaussianDelta(double sigma, std::int64_t sensitivity, double epsilon) {
  using Real = long double;
  if (!(sigma > 0 && sigma <= kWidestDiscreteGaussian) || sensitivity < 1 || !(epsilon >= 0) ||
      std::isinf(epsilon)) {
    return 1;
  }
  const Real s = sigma;
  const auto d = static_cast<Real>(sensitivity);
  const Real precision = 1 / (2 * s * s);
  const Real reach = std::ceil(40 * s) + 2;  // beyond it nothing is left of a probability
  Real all = 0.5L;
  for (Real x = reach; x >= 1; --x) all += std::exp(-x * x * precision);
  all *= 2;
  // Both sums of the theorem term by term, so that nothing cancels: y of the first is y + D of the second.
  const Real first = std::floor(static_cast<Real>(epsilon) * s * s / d - d / 2) + 1;
  Real delta = 0;
  for (Real y = reach; y >= std::max(first, -reach); --y) {
    const Real gain = static_cast<Real>(epsilon) - (2 * y + d) * d * precision;
    delta -= std::exp(-y * y * precision) * std::expm1(std::min(gain, Real{0}));
  }
  const auto rounded = static_cast<double>(std::min(delta / all * (1 + 1e-16L), Real{1}));
  return std::nextafter(rounded, 1.0);  // the least doubles are far apart
}

}  // namespace retort::privacy
