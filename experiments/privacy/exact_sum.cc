#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstddef>
#include <limits>

#include "experiments/privacy/exact_gdp.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {
namespace {

using Integer = boost::multiprecision::cpp_int;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// numerator * 2^exponent / denominator, denominator > 0.
struct Fraction {
  Integer numerator = 0;
  Integer denominator = 1;
  int exponent = 0;
};

Fraction Sum(const Fraction& a, const Fraction& b) {
  if (a.numerator == 0) return b;
  if (b.numerator == 0) return a;
  const int exponent = std::min(a.exponent, b.exponent);
  Fraction sum;
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

// The least double that is not below the fraction.
double ToDoubleUp(const Fraction& fraction) {
  if (fraction.numerator == 0) return 0;
  // Scaled so that the quotient has 55 bits or more: then one rounding, upwards, to 53.
  const int shift =
      56 + static_cast<int>(msb(fraction.denominator)) - static_cast<int>(msb(fraction.numerator));
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
  const double value = std::ldexp(static_cast<double>(rounded.convert_to<std::int64_t>()),
                                  excess - shift + fraction.exponent);
  // Among the least doubles ldexp rounds once more, and may do so downwards.
  return value < std::numeric_limits<double>::min() ? std::nextafter(value, kInfinity) : value;
}

bool InRange(const GaussianTerm& term) {
  return term.count >= 0 && term.factor >= 0 && std::isfinite(term.sensitivity) && term.sensitivity >= 0 &&
         std::isfinite(term.noise_std) && term.noise_std > 0;
}

Fraction FromDouble(double value) {
  const Dyadic dyadic = Dyadic::FromDouble(value).value();
  Fraction fraction;
  fraction.numerator = dyadic.mantissa;
  fraction.exponent = dyadic.exponent;
  return fraction;
}

Fraction Contribution(const GaussianTerm& term) {
  const Fraction sensitivity = FromDouble(term.sensitivity);
  const Fraction noise = FromDouble(term.noise_std);
  Fraction contribution;
  contribution.numerator = sensitivity.numerator * sensitivity.numerator * term.count * term.factor;
  contribution.denominator = noise.numerator * noise.numerator;
  contribution.exponent = 2 * (sensitivity.exponent - noise.exponent);
  return contribution;
}

}  // namespace

double MuSquaredUp(const std::vector<GaussianTerm>& terms) {
  // Sums of many different denominators grow without end, so each run of terms is rounded up on its own;
  // a double is a fraction of denominator one again.
  constexpr std::size_t kRun = 32;
  Fraction total;
  Fraction run;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!InRange(terms[i])) return kInfinity;
    run = Sum(run, Contribution(terms[i]));
    if (terms.size() > kRun && (i + 1) % kRun == 0) {
      const double rounded = ToDoubleUp(run);
      if (!std::isfinite(rounded)) return kInfinity;
      total = Sum(total, FromDouble(rounded));
      run = Fraction();
    }
  }
  return ToDoubleUp(Sum(total, run));
}

double ComposedMu(const std::vector<GaussianTerm>& terms) {
  const double squared = MuSquaredUp(terms);
  if (squared == 0 || !std::isfinite(squared)) return squared;
  return std::nextafter(std::sqrt(squared), kInfinity);
}

}  // namespace retort::privacy
