#include "experiments/privacy/accountants/exact_gdp.h"

#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "experiments/base/number_text.h"

namespace retort::privacy {
namespace {

using Real = long double;

constexpr Real kSqrtHalf = 0.707106781186547524400844362104849039L;
constexpr Real kLogSqrtTwoPi = 0.918938533204672741780329736405617639L;
// Bounds the error of a computed log delta: no step below cancels more than two digits, and its largest part, near^2 /
// 2, stays below 800 where delta is a double.
constexpr Real kLogSlack = 1e-15L;

// 1/(x + 2/(x + 3/(x + ...))): the Mills ratio is 1/(x + this). x >= 4.
Real Fraction(Real x) {
  Real tail = 0;
  for (int k = 60; k >= 2; --k) tail = static_cast<Real>(k) / (x + tail);
  return 1 / (x + tail);
}

// (1 - Phi(x)) / phi(x), for x above -100.
Real MillsRatio(Real x) {
  if (x >= 4) return 1 / (x + Fraction(x));
  return 1.2533141373155002512078826424055226L * std::exp(x * x / 2) * std::erfc(x * kSqrtHalf);
}

// Minus the Mills ratio's derivative, 1 - x MillsRatio(x) > 0, for x above -100.
Real MillsFall(Real x) {
  if (x < 4) return 1 - x * MillsRatio(x);
  const Real fraction = Fraction(x);
  return fraction / (x + fraction);
}

Real LogNormalDensity(Real x) { return -x * x / 2 - kLogSqrtTwoPi; }

// log delta where the loss's threshold stands at `near` = epsilon/mu - mu/2 >= -mu/2 deviations: delta = (1 -
// Phi(near))
// - e^epsilon (1 - Phi(near + mu)), and e^epsilon phi(near + mu) = phi(near). Falls with near. mu > 0.
Real LogDeltaAt(Real near, Real mu) {
  const Real far = near + mu;
  if (mu <= std::max<Real>(1, near) / 2) {  // the two would cancel
    const Real fall = boost::math::quadrature::gauss<Real, 15>::integrate(
        [near](Real x) { return MillsFall(near + x); }, Real{0}, mu);
    return LogNormalDensity(near) + std::log(fall);
  }
  if (near >= 0) return LogNormalDensity(near) + std::log(MillsRatio(near) - MillsRatio(far));
  const Real beyond = std::exp(LogNormalDensity(near)) * MillsRatio(far);
  return std::log1p(-std::erfc(-near * kSqrtHalf) / 2 - beyond);
}

// Returns (epsilon - mu^2/2) / mu; the two terms may agree in all digits.
Real ComputeNear(Real epsilon, Real mu) {
  const Real square = mu * mu;
  return ((epsilon - square / 2) - std::fma(mu, mu, -square) / 2) / mu;
}

Real LogDelta(Real epsilon, Real mu) {
  if (mu == 0) return epsilon >= 0 ? -std::numeric_limits<Real>::infinity() : std::log(-std::expm1(epsilon));
  // The other direction's losses are the same: delta(-e) = 1 - e^-e + e^-e delta(e).
  if (epsilon < 0) return std::log(std::exp(epsilon + LogDelta(-epsilon, mu)) - std::expm1(epsilon));
  return LogDeltaAt(std::max(ComputeNear(epsilon, mu), -mu / 2), mu);
}

bool ValidDelta(double delta) { return delta > 0 && delta < 1; }

// Where a decreasing function changes its sign between low (positive) and high (not positive): an end on
// either side, apart by a few units of the last place or `least`.
template <typename Function>
std::pair<Real, Real> DecreasingRoot(Function function, Real low, Real high, Real least) {
  boost::uintmax_t rounds = 200;
  const auto narrow = [least](Real a, Real b) { return b - a <= 1e-16L * (std::abs(a) + std::abs(b)) + least; };
  const Real at_low = function(low);
  const Real at_high = function(high);
  if (!(at_low > 0)) return {low, low};
  if (!(at_high < 0)) return {high, high};
  return boost::math::tools::toms748_solve(function, low, high, at_low, at_high, narrow, rounds);
}

}  // namespace

double Dyadic::ToDouble() const { return std::ldexp(static_cast<double>(mantissa), exponent); }

Result<Dyadic> Dyadic::FromDouble(double value) {
  if (!std::isfinite(value) || value < 0) return UsageError("only finite values of zero or more are dyadic scales");
  Dyadic dyadic;
  if (value == 0) return dyadic;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  dyadic.mantissa = static_cast<std::int64_t>(std::ldexp(fraction, std::numeric_limits<double>::digits));
  dyadic.exponent = exponent - std::numeric_limits<double>::digits;
  while (dyadic.mantissa % 2 == 0) {
    dyadic.mantissa /= 2;
    ++dyadic.exponent;
  }
  return dyadic;
}

double ComputeGaussianLogDelta(double epsilon, double mu) {
  if (std::isnan(epsilon) || std::isnan(mu) || mu < 0) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(mu)) return 0;
  if (std::isinf(epsilon)) return epsilon > 0 ? -kInfinity : 0;
  return static_cast<double>(LogDelta(epsilon, mu));
}

double ComputeGaussianEpsilon(double delta, double mu) {
  if (!ValidDelta(delta) || std::isnan(mu) || mu < 0 || std::isinf(mu)) return kInfinity;
  if (mu == 0) return 0;
  const Real m = mu, target = std::log(static_cast<Real>(delta)) - kLogSlack;
  const auto excess = [m, target](Real near) { return LogDeltaAt(near, m) - target; };
  if (excess(-m / 2) <= 0) return 0;
  // At 12 deviations below the mean of the losses delta is nearer to 1 than any double; above it, it is less
  // than e^(-near^2 / 2).
  const Real low = std::max<Real>(-m / 2, -12), high = std::sqrt(-2 * target) + 1e-9L;
  const Real near = DecreasingRoot(excess, low, high, 1e-18L * std::min<Real>(m, 1)).second;
  const Real epsilon = m * (near + m / 2), rounding = 1e-18L * m * (std::abs(near) + m);
  return std::nextafter(static_cast<double>((epsilon + rounding) * (1 + 1e-15L)), kInfinity);
}

double ComputeGaussianMu(double epsilon, double delta) {
  if (!ValidDelta(delta) || std::isnan(epsilon) || epsilon < 0 || std::isinf(epsilon)) return 0;
  const Real target = std::log(static_cast<Real>(delta)) - kLogSlack;
  const auto slack = [epsilon, target](Real mu) { return target - LogDelta(epsilon, mu); };
  Real high = 1;
  while (slack(high) > 0) high *= 2;
  Real low = high;
  while (low > 1e-320L && !(slack(low) > 0)) low /= 2;
  if (!(slack(low) > 0)) return 0;
  const Real root = DecreasingRoot(slack, low, high, 0).first;
  const Real below = root * (1 - 1e-14L);
  return below >= std::numeric_limits<double>::min() ? std::nextafter(static_cast<double>(below), 0.0) : 0;
}

double RoundEpsilonUp(double epsilon) {
  if (std::isnan(epsilon) || epsilon < 0) return kInfinity;
  if (epsilon == 0 || std::isinf(epsilon)) return epsilon;
  if (epsilon > 1e12) return std::ceil(epsilon * (1 + 1e-10));
  return std::ceil((epsilon * (1 + 1e-10) + 1e-10) * 1000) / 1000;
}

double RoundGivenEpsilonUp(double epsilon) {
  if (epsilon >= 1e12 && std::isfinite(epsilon)) return epsilon;  // thousandths are lost in its last digit
  const double near = std::round(epsilon * 1000) / 1000;
  return epsilon > 0 && near == epsilon ? near : RoundEpsilonUp(epsilon);
}

namespace {

using Integer = boost::multiprecision::cpp_int;

// numerator * 2^exponent / denominator, denominator > 0.
struct Rational {
  Integer numerator = 0;
  Integer denominator = 1;
  int exponent = 0;
};

Rational Sum(const Rational& a, const Rational& b) {
  if (a.numerator == 0) return b;
  if (b.numerator == 0) return a;
  const int exponent = std::min(a.exponent, b.exponent);
  Rational sum;
  sum.exponent = exponent;
  if (a.denominator == b.denominator) {
    sum.numerator = (a.numerator << (a.exponent - exponent)) + (b.numerator << (b.exponent - exponent));
    sum.denominator = a.denominator;
    return sum;
  }
  const Integer left = (a.numerator * b.denominator) << (a.exponent - exponent);
  const Integer right = (b.numerator * a.denominator) << (b.exponent - exponent);
  sum.numerator = left + right;
  sum.denominator = a.denominator * b.denominator;
  return sum;
}

// Returns the least double that is not below the fraction.
double ToDoubleUp(const Rational& fraction) {
  if (fraction.numerator == 0) return 0;
  // Scaled so that the quotient has 55 bits or more: then one rounding, upwards, to 53.
  const int shift = 56 + static_cast<int>(msb(fraction.denominator)) - static_cast<int>(msb(fraction.numerator));
  Integer numerator = fraction.numerator;
  Integer denominator = fraction.denominator;
  if (shift > 0)
    numerator <<= shift;
  else
    denominator <<= -shift;
  Integer quotient = numerator / denominator;
  if (quotient * denominator != numerator) ++quotient;
  const auto excess = static_cast<int>(msb(quotient)) - 52;
  Integer rounded = quotient >> excess;
  if ((rounded << excess) != quotient) ++rounded;
  const double value =
      std::ldexp(static_cast<double>(rounded.convert_to<std::int64_t>()), excess - shift + fraction.exponent);
  // Among the least doubles ldexp rounds once more, and may do so downwards.
  return value < std::numeric_limits<double>::min() ? std::nextafter(value, kInfinity) : value;
}

bool InRange(const GaussianTerm& term) {
  return term.count >= 0 && term.factor >= 0 && std::isfinite(term.sensitivity) && term.sensitivity >= 0 &&
         std::isfinite(term.noise_std) && term.noise_std > 0;
}

Rational FromDouble(double value) {
  const Dyadic dyadic = Dyadic::FromDouble(value).value();
  Rational fraction;
  fraction.numerator = dyadic.mantissa;
  fraction.exponent = dyadic.exponent;
  return fraction;
}

Rational Contribution(const GaussianTerm& term) {
  const Rational sensitivity = FromDouble(term.sensitivity);
  const Rational noise = FromDouble(term.noise_std);
  Rational contribution;
  contribution.numerator = sensitivity.numerator * sensitivity.numerator * term.count * term.factor;
  contribution.denominator = noise.numerator * noise.numerator;
  contribution.exponent = 2 * (sensitivity.exponent - noise.exponent);
  return contribution;
}

}  // namespace

double ComputeMuSquaredUp(const std::vector<GaussianTerm>& terms) {
  // Sums of many different denominators grow without end, so each run of terms is rounded up on its own;
  // a double is a fraction of denominator one again.
  constexpr std::size_t kRun = 32;
  Rational total;
  Rational run;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!InRange(terms[i])) return kInfinity;
    run = Sum(run, Contribution(terms[i]));
    if (terms.size() > kRun && (i + 1) % kRun == 0) {
      const double rounded = ToDoubleUp(run);
      if (!std::isfinite(rounded)) return kInfinity;
      total = Sum(total, FromDouble(rounded));
      run = Rational();
    }
  }
  return ToDoubleUp(Sum(total, run));
}

double ComputeComposedMu(const std::vector<GaussianTerm>& terms) {
  const double squared = ComputeMuSquaredUp(terms);
  if (squared == 0 || !std::isfinite(squared)) return squared;
  return std::nextafter(std::sqrt(squared), kInfinity);
}

}  // namespace retort::privacy
