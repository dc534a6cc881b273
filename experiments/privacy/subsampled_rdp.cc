// Moments of the Poisson-subsampled Gaussian: A(a) = E_{x ~ N(0, z^2)} [((1-q) + q e^{(2x-1)/(2z^2)})^a],
// RDP(a) = log A(a) / (a - 1).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "experiments/privacy/rdp_accountant.h"

namespace retort::privacy {
namespace {

using Real = long double;

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

// A sum of terms given by logarithm and sign, kept relative to the largest.
class SignedLogSum {
 public:
  void Add(Real log_magnitude, bool positive) {
    if (log_magnitude < scale_ - kNegligible || log_magnitude == -kInfinity) return;
    if (log_magnitude > scale_) {
      sum_ = scale_ == -kInfinity ? 0 : sum_ * std::exp(scale_ - log_magnitude);
      scale_ = log_magnitude;
    }
    const Real term = std::exp(log_magnitude - scale_);
    sum_ += positive ? term : -term;
  }
  // Whether a term of this size would be left out.
  [[nodiscard]] bool Skips(Real log_magnitude) const { return log_magnitude < scale_ - kNegligible; }
  // NaN when the sum is negative.
  [[nodiscard]] Real Log() const { return scale_ == -kInfinity ? -kInfinity : scale_ + std::log(sum_); }

 private:
  static constexpr Real kNegligible = 65;  // beyond the last digit, even after the terms alternate
  Real scale_ = -kInfinity;
  Real sum_ = 0;
};

// log(erfc(x) / 2).
Real LogHalfErfc(Real x) {
  constexpr Real kLogTwo = 0.693147180559945309417232121458176568L;
  constexpr Real kLogSqrtPi = 0.572364942924700087071713675676529356L;
  if (x < -7) return 0;  // to 1e-22
  if (x < 60) return std::log(std::erfc(x)) - kLogTwo;
  const Real inverse = 1 / (2 * x * x);
  return -x * x - std::log(x) - kLogSqrtPi + std::log1p(-inverse * (1 - 3 * inverse)) - kLogTwo;
}

// Order a whole number: A - 1 = sum over k >= 2 of C(a,k) (1-q)^(a-k) q^k (e^{(k^2-k)/(2z^2)} - 1), all terms
// positive, so that small values keep their digits. Factors by multiplication alone; infinity when one of
// them overflows, for LogMomentWholeInLogs to do.
Real LogMomentWholeByFactors(Real q, Real z, Real order) {
  const Real odds = q / (1 - q);
  const Real start = std::exp(order * std::log1p(-q));
  if (!(start > 0)) return kInfinity;
  const Real rate = std::expm1(1 / (z * z));
  Real weight = start * order * odds;  // C(a,k) (1-q)^(a-k) q^k at k = 1
  Real growth = 0;                     // e^{(k^2-k)/(2z^2)} - 1
  Real ratio = rate;                   // e^{k/z^2} - 1
  Real excess = 0;
  for (Real k = 2; k <= order; ++k) {
    weight *= odds * (order - k + 1) / k;
    growth += ratio * (1 + growth);
    ratio += rate * (1 + ratio);
    excess += weight * growth;
  }
  return std::isfinite(excess) ? std::log1p(excess) : kInfinity;
}

Real LogMomentWholeInLogs(Real q, Real z, Real order) {
  const Real log_q = std::log(q);
  const Real log_rest = std::log1p(-q);
  const Real half_precision = 1 / (2 * z * z);
  SignedLogSum excess;
  Real log_binomial = std::log(order);  // C(a, 1)
  for (Real k = 2; k <= order; ++k) {
    log_binomial += std::log((order - k + 1) / k);
    const Real exponent = (k * k - k) * half_precision;
    const Real log_growth = exponent > 40 ? exponent : std::log(std::expm1(exponent));
    excess.Add(log_binomial + k * log_q + (order - k) * log_rest + log_growth, true);
  }
  const Real log_excess = excess.Log();
  return log_excess > 40 ? log_excess : std::log1p(std::exp(log_excess));
}

Real LogMomentWhole(Real q, Real z, Real order) {
  const Real quick = LogMomentWholeByFactors(q, z, order);
  return std::isfinite(quick) ? quick : LogMomentWholeInLogs(q, z, order);
}

// An alternating series from its first terms by repeated averaging of its partial sums (Euler).
Real AlternatingSum(const std::vector<Real>& terms) {
  std::vector<Real> partial;
  Real sum = 0;
  for (const Real term : terms) partial.push_back(sum += term);
  while (partial.size() > 1) {
    for (std::size_t i = 0; i + 1 < partial.size(); ++i) partial[i] = (partial[i] + partial[i + 1]) / 2;
    partial.pop_back();
  }
  return partial.front();
}

// Any real order: both halves of the integral, cut where the two parts of the mixture are equal, expanded
// binomially [Mironov-Talwar-Zhang 2019]. Past `smooth` the terms alternate and shrink smoothly.
struct RealSeries {
  Real q, z, order;
  Real cut = z * z * (std::log1p(-q) - std::log(q)) + 0.5L;
  Real width = std::sqrt(2.0L) * z;
  Real smooth = std::max({cut, order - cut, order}) + 24;

  static constexpr Real kNegligible = -50;  // the logarithm of a term that no digit shows
  static constexpr std::size_t kTail = 24;
  static constexpr Real kLongest = 20'000;
};

Real LogMomentRealInLogs(const RealSeries& series) {
  const auto& [q, z, order, cut, width, smooth] = series;
  const Real log_q = std::log(q);
  const Real log_rest = std::log1p(-q);
  const Real half_precision = 1 / (2 * z * z);
  SignedLogSum sum;
  std::vector<Real> tail;
  Real log_binomial = 0;
  bool positive = true;
  for (Real i = 0; i < RealSeries::kLongest; ++i) {
    const Real j = order - i;
    const Real below = log_binomial + i * log_q + j * log_rest + (i * i - i) * half_precision +
                       LogHalfErfc((i - cut) / width);
    // erfc(x) <= e^{-x^2} for x >= 0: most terms of this half need no more to be seen as nothing.
    const Real x = (cut - j) / width;
    const Real above_start = log_binomial + j * log_q + i * log_rest + (j * j - j) * half_precision;
    const bool nothing = i < smooth && x > 0 && sum.Skips(above_start - x * x);
    const Real above = nothing ? -kInfinity : above_start + LogHalfErfc(x);
    if (i > order + 1 && std::max(below, above) < RealSeries::kNegligible) {
      if (tail.empty()) return sum.Log();
      break;
    }
    if (i < smooth) {
      sum.Add(below, positive);
      sum.Add(above, positive);
    } else {
      tail.push_back((positive ? 1 : -1) * (std::exp(below) + std::exp(above)));
      if (tail.size() == RealSeries::kTail) break;
    }
    log_binomial += std::log(std::abs(j) / (i + 1));
    if (j < 0) positive = !positive;
  }
  if (tail.empty()) return kInfinity;
  const Real rest = AlternatingSum(tail);
  sum.Add(std::log(std::abs(rest)), rest > 0);
  return sum.Log();
}

// erfc(x) as a factor of a term that is at most `bound`, of a sum that is about `sum`: of a small part of the
// sum the digits of a double are enough.
Real ErfcIn(Real x, Real bound, Real sum) {
  constexpr Real kSmallPart = 1e-4L;
  const bool small = x > 0 && x < 26 && bound < kSmallPart * std::abs(sum);
  return small ? static_cast<Real>(std::erfc(static_cast<double>(x))) : std::erfc(x);
}

// The same with every term from the one before by multiplication, a tenth of the time. NaN where a factor
// leaves the range of its type on the way.
Real LogMomentRealByFactors(const RealSeries& series) {
  const auto& [q, z, order, cut, width, smooth] = series;
  constexpr Real kNothing = std::numeric_limits<Real>::quiet_NaN();
  constexpr Real kSmall = 1.9287498479639177e-22L;  // e^kNegligible
  const Real odds = q / (1 - q);
  const Real growth = std::exp(1 / (z * z));
  Real below = std::exp(order * std::log1p(-q));  // |C(a,i)| q^i (1-q)^j e^{(i^2-i)/(2z^2)}
  Real above = std::exp(order * std::log(q) + (order * order - order) / (2 * z * z));  // i and j changed over
  Real below_step = odds;                                                              // q/(1-q) e^{i/z^2}
  Real above_step = std::exp(-(order - 1) / (z * z)) / odds;  // (1-q)/q e^{-(j-1)/z^2}
  // Times e^{-x^2}, which is at least erfc(x) for x > 0: the cut makes the rest of both steps cancel.
  Real below_most = below * std::exp(-(cut / width) * (cut / width));
  Real above_most = above * std::exp(-((cut - order) / width) * ((cut - order) / width));
  Real sum = 0;
  std::vector<Real> tail;
  bool positive = true, ended = false;
  for (Real i = 0; i < RealSeries::kLongest && !ended; ++i) {
    if (!std::isnormal(below) || !std::isnormal(above)) return kNothing;
    const Real j = order - i;
    const Real x = (i - cut) / width, y = (cut - j) / width;
    const Real term = (below * ErfcIn(x, below_most, sum) + above * ErfcIn(y, above_most, sum)) / 2;
    ended = i > order + 1 && term < kSmall;
    if (ended) break;
    if (i < smooth) {
      sum += positive ? term : -term;
    } else {
      tail.push_back(positive ? term : -term);
      ended = tail.size() == RealSeries::kTail;
    }
    const Real binomial = std::abs(j) / (i + 1);
    below_most *= binomial;
    above_most *= binomial;
    below *= binomial * below_step;
    above *= binomial * above_step;
    below_step *= growth;
    above_step *= growth;
    if (j < 0) positive = !positive;
  }
  if (!ended) return kNothing;
  return std::log(tail.empty() ? sum : sum + AlternatingSum(tail));
}

Real LogMomentReal(Real q, Real z, Real order) {
  const RealSeries series{q, z, order};
  const Real quick = LogMomentRealByFactors(series);
  return std::isfinite(quick) ? quick : LogMomentRealInLogs(series);
}

// Whole orders whose series would be long, bounded in closed form: with X the largest exponent, at k = a,
// e^x - 1 <= x (e^X - 1)/X for 0 <= x <= X, so A - 1 <= a (a-1) q^2/(2z^2) (e^X - 1)/X. Nor does sampling
// cost more than none. Close where X is small.
double LongOrderRdp(double q, double z, double order) {
  const double largest = (order * order - order) / (2 * z * z);
  const double factor = largest > 0 ? std::expm1(largest) / largest : 1;
  return std::nextafter(std::min(factor * order * q * q / (2 * z * z), order / (2 * z * z)),
                        std::numeric_limits<double>::infinity());
}

// Beyond these, series take long: whole orders are bounded in closed form, others by the next whole one,
// since RDP grows with the order.
constexpr double kLongestSeries = 20'000;
constexpr double kMostFractional = 2000;
// From this rate on nearly everything is sampled, and sampling everything costs no less.
constexpr double kAllButSampled = 1 - 1e-9;

}  // namespace

double SubsampledGaussianRdp(double q, double z, double order) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  if (!(q >= 0 && q <= 1) || !(z > 0) || !(order > 1) || std::isinf(order)) return kUnbounded;
  if (q == 0 || std::isinf(z)) return 0;
  if (q >= kAllButSampled) return order / (2 * z * z);
  if (order > kMostFractional) order = std::ceil(order);
  if (order > kLongestSeries) return LongOrderRdp(q, z, order);
  const bool whole = order == std::floor(order);
  const Real log_moment = whole ? LogMomentWhole(q, z, order) : LogMomentReal(q, z, order);
  const auto rdp = static_cast<double>(log_moment / (static_cast<Real>(order) - 1));
  return std::isfinite(rdp) && rdp >= 0 ? rdp : kUnbounded;
}

}  // namespace retort::privacy
