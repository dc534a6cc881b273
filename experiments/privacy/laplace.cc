#include "experiments/privacy/laplace.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retort::privacy {
namespace {

using Real = long double;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// e^x - 1 - x >= 0.
Real ExpBeyondLine(Real x) {
  if (std::abs(x) > 0.5L) return std::expm1(x) - x;
  Real term = x * x / 2, sum = 0;
  for (Real k = 3; std::abs(term) > 1e-22L * sum; ++k) {
    sum += term;
    term *= x / k;
  }
  return sum;
}

}  // namespace

double LaplaceDelta(double ratio, double epsilon) {
  if (!(ratio > 0) || !std::isfinite(ratio) || !(epsilon >= 0)) return 1;
  return epsilon >= ratio ? 0 : -std::expm1((epsilon - ratio) / 2);
}

double LaplaceEpsilon(double ratio, double delta) {
  constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
  if (!(ratio > 0) || !(delta > 0 && delta < 1)) return kInfinity;
  return std::max(0.0, ratio * (1 + kRounding) + 2 * std::log1p(-delta) * (1 - kRounding));
}

double LaplaceRdp(double ratio, double order) {
  if (!(ratio > 0) || !std::isfinite(ratio) || !(order > 1) || std::isinf(order)) return kInfinity;
  const Real a = order, r = ratio;
  const Real up = (a - 1) * r;
  Real log_moment;
  if (up < 40) {
    // a/(2a-1) e^{(a-1) r} + (a-1)/(2a-1) e^{-a r}, less 1: the terms that are linear in r cancel.
    log_moment = std::log1p((a * ExpBeyondLine(up) + (a - 1) * ExpBeyondLine(-a * r)) / (2 * a - 1));
  } else {
    const Real rest = (a - 1) / a * std::exp(-(2 * a - 1) * r);
    log_moment = up + std::log1p(-(a - 1) / (2 * a - 1)) + std::log1p(rest);
  }
  // No order loses more than the largest loss.
  return std::min(std::nextafter(static_cast<double>(log_moment / (a - 1) * (1 + 1e-15L)), kInfinity), ratio);
}

}  // namespace retort::privacy
