#include "experiments/privacy/laplace.h"

#include <cmath>
#include <limits>

namespace retort::privacy {

double LaplaceDelta(double ratio, double epsilon) {
  if (!(ratio > 0) || !std::isfinite(ratio) || !(epsilon >= 0)) return 1;
  return epsilon >= ratio ? 0 : -std::expm1((epsilon - ratio) / 2);
}

double LaplaceRdp(double ratio, double order) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(ratio > 0) || !std::isfinite(ratio) || !(order > 1) || std::isinf(order)) return kInfinity;
  using Real = long double;
  const Real a = order;
  const Real r = ratio;
  // a/(2a-1) e^{(a-1) r} + (a-1)/(2a-1) e^{-a r}, minus 1 so that small ratios keep their digits.
  if (a * r < 1) {
    const Real excess = (a * std::expm1((a - 1) * r) + (a - 1) * std::expm1(-a * r)) / (2 * a - 1);
    return static_cast<double>(std::fmax(std::log1p(excess), 0.0L) / (a - 1));
  }
  const Real rest = (a - 1) / a * std::exp(-(2 * a - 1) * r);
  const Real log_moment = (a - 1) * r + std::log(a / (2 * a - 1)) + std::log1p(rest);
  return static_cast<double>(std::fmax(log_moment, 0.0L) / (a - 1));
}

}  // namespace retort::privacy
