#include "experiments/privacy/exact_gdp.h"

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>
#include <utility>

namespace retort::privacy {
namespace {

using Real = long double;  // a few digits of slack against the cancellation in small deltas

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Real kSqrtHalf = 0.707106781186547524400844362104849039L;
constexpr Real kLogSqrtTwoPi = 0.918938533204672741780329736405617639L;

// exp(x^2) erfc(x) for x >= 0, without overflow or underflow.
Real ScaledErfc(Real x) {
  if (x < 8) return std::exp(x * x) * std::erfc(x);
  // Continued fraction 1/sqrt(pi) * 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + ...)))), from its far end.
  Real tail = 0;
  for (int k = 60; k >= 1; --k) tail = (static_cast<Real>(k) / 2) / (x + tail);
  return 0.564189583547756286948079451560772586L / (x + tail);
}

// (1 - Phi(x)) / phi(x) for x >= 0.
Real MillsRatio(Real x) { return 1.2533141373155002512078826424055226L * ScaledErfc(x * kSqrtHalf); }

Real LogNormalDensity(Real x) { return -x * x / 2 - kLogSqrtTwoPi; }

// log Phi(x).
Real LogNormalCdf(Real x) {
  if (x > 0) return std::log1p(-std::erfc(x * kSqrtHalf) / 2);
  return LogNormalDensity(x) + std::log(MillsRatio(-x));
}

Real LogDelta(Real epsilon, Real mu) {
  if (mu == 0) return epsilon >= 0 ? -std::numeric_limits<Real>::infinity() : std::log(-std::expm1(epsilon));
  const Real near = epsilon / mu - mu / 2;
  const Real far = epsilon / mu + mu / 2;
  // e^epsilon phi(far) = phi(near): with both tails on the right the densities factor out.
  if (near >= 0) return LogNormalDensity(near) + std::log(MillsRatio(near) - MillsRatio(far));
  const Real log_near = LogNormalCdf(-near);
  const Real log_ratio = epsilon + LogNormalCdf(-far) - log_near;
  return log_near + std::log(-std::expm1(log_ratio));
}

bool ValidDelta(double delta) { return delta > 0 && delta < 1; }

// Brackets the sign change of a decreasing function between low (positive) and high (not positive).
template <typename Function>
std::pair<Real, Real> DecreasingRoot(Function function, Real low, Real high) {
  boost::uintmax_t rounds = 200;
  const auto narrow = [](Real a, Real b) { return b - a <= 1e-15L * (std::abs(a) + std::abs(b)); };
  const Real at_low = function(low);
  const Real at_high = function(high);
  if (!(at_low > 0)) return {low, low};
  if (!(at_high < 0)) return {high, high};
  return boost::math::tools::toms748_solve(function, low, high, at_low, at_high, narrow, rounds);
}

}  // namespace

double GaussianLogDelta(double epsilon, double mu) {
  if (std::isnan(epsilon) || std::isnan(mu) || mu < 0) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(mu)) return 0;
  return static_cast<double>(LogDelta(epsilon, mu));
}

double GaussianEpsilon(double delta, double mu) {
  if (!ValidDelta(delta) || std::isnan(mu) || mu < 0 || std::isinf(mu)) return kInfinity;
  if (mu == 0) return 0;
  const Real target = std::log(static_cast<Real>(delta));
  const auto excess = [mu, target](Real epsilon) { return LogDelta(epsilon, mu) - target; };
  if (excess(0) <= 0) return 0;
  // The privacy loss is N(mu^2/2, mu^2); its tail at t standard deviations is below exp(-t^2/2).
  const Real high = static_cast<Real>(mu) * mu / 2 + mu * std::sqrt(-2 * target) + 1e-300L;
  const Real root = DecreasingRoot(excess, Real{0}, high).second;
  return std::nextafter(static_cast<double>(root * (1 + 1e-14L)), kInfinity);
}

double GaussianMu(double epsilon, double delta) {
  if (!ValidDelta(delta) || std::isnan(epsilon) || epsilon < 0 || std::isinf(epsilon)) return 0;
  const Real target = std::log(static_cast<Real>(delta));
  const auto slack = [epsilon, target](Real mu) { return target - LogDelta(epsilon, mu); };
  Real high = 1;
  while (slack(high) > 0) high *= 2;
  Real low = high;
  while (low > 1e-300L && !(slack(low) > 0)) low /= 2;
  const Real root = DecreasingRoot(slack, low, high).first;
  return std::nextafter(static_cast<double>(root * (1 - 1e-14L)), 0.0);
}

double RoundEpsilonUp(double epsilon) {
  if (std::isnan(epsilon) || epsilon < 0) return kInfinity;
  if (epsilon == 0 || std::isinf(epsilon)) return epsilon;
  if (epsilon > 1e12) return std::ceil(epsilon * (1 + 1e-10));
  return std::ceil((epsilon * (1 + 1e-10) + 1e-10) * 1000) / 1000;
}

double RoundGivenEpsilonUp(double epsilon) {
  if (epsilon >= 1e12 && std::isfinite(epsilon)) return epsilon;  // thousandths are lost in its last digit
  const double thousandths = epsilon * 1000;
  const double near = std::round(thousandths);
  const bool whole = std::abs(near - thousandths) <= 4 * std::numeric_limits<double>::epsilon() * thousandths;
  return whole && epsilon > 0 && epsilon < 1e12 ? near / 1000 : RoundEpsilonUp(epsilon);
}

}  // namespace retort::privacy
