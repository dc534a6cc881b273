// Moments of the Poisson-subsampled Gaussian: A(a) = E_{x ~ N(0, z^2)} [((1-q) + q e^{(2x-1)/(2z^2)})^a],
// RDP(a) = log A(a) / (a - 1). Small moments keep their digits: what is summed is A - 1, of positive terms
// alone.
#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/privacy/rdp_accountant.h"

namespace retort::privacy {
namespace {

using Real = long double;

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

// A sum of positive terms given by their logarithms, kept relative to the largest.
class LogSum {
 public:
  void Add(Real log_term) {
    if (!(log_term > scale_ - kNegligible)) return;
    if (log_term > scale_) {
      sum_ = scale_ == -kInfinity ? 0 : sum_ * std::exp(scale_ - log_term);
      scale_ = log_term;
    }
    sum_ += std::exp(log_term - scale_);
  }
  [[nodiscard]] Real Log() const { return scale_ == -kInfinity ? -kInfinity : scale_ + std::log(sum_); }

 private:
  static constexpr Real kNegligible = 65;  // beyond the last digit
  Real scale_ = -kInfinity;
  Real sum_ = 0;
};

// log(1 + e^x).
Real LogOnePlusExp(Real x) { return x > 60 ? x + std::exp(-x) : std::log1p(std::exp(x)); }

// Order a whole number: A - 1 = sum over k >= 2 of C(a,k) (1-q)^(a-k) q^k (e^{(k^2-k)/(2z^2)} - 1). Factors
// by multiplication alone; infinity when one of them leaves the range where it keeps its digits, for
// LogMomentWholeInLogs to do.
Real LogMomentWholeByFactors(Real q, Real z, Real order) {
  const Real odds = q / (1 - q);
  const Real start = std::exp(order * std::log1p(-q));
  if (!std::isnormal(start)) return kInfinity;
  const Real rate = std::expm1(1 / (z * z));
  Real weight = start * order * odds;  // C(a,k) (1-q)^(a-k) q^k at k = 1
  Real growth = 0;                     // e^{(k^2-k)/(2z^2)} - 1
  Real ratio = rate;                   // e^{k/z^2} - 1
  Real excess = 0;
  for (Real k = 2; k <= order; ++k) {
    weight *= odds * (order - k + 1) / k;
    growth += ratio * (1 + growth);
    ratio += rate * (1 + ratio);
    if (!std::isnormal(weight) || !std::isnormal(growth)) return kInfinity;
    excess += weight * growth;
  }
  return std::isfinite(excess) ? std::log1p(excess) : kInfinity;
}

Real LogMomentWholeInLogs(Real q, Real z, Real order) {
  const Real log_q = std::log(q);
  const Real log_rest = std::log1p(-q);
  const Real half_precision = 1 / (2 * z * z);
  LogSum excess;
  Real log_binomial = std::log(order);  // C(a, 1)
  for (Real k = 2; k <= order; ++k) {
    log_binomial += std::log((order - k + 1) / k);
    const Real exponent = (k * k - k) * half_precision;
    const Real log_growth = exponent > 40 ? exponent : std::log(std::expm1(exponent));
    excess.Add(log_binomial + k * log_q + (order - k) * log_rest + log_growth);
  }
  // More than the rounding of every logarithm on the way.
  const Real slack = 0x1p-62L * (order + 4) * order * (1 - log_q - log_rest + order * half_precision);
  return LogOnePlusExp(excess.Log() + slack);
}

Real LogMomentWhole(Real q, Real z, Real order) {
  const Real quick = LogMomentWholeByFactors(q, z, order);
  return std::isfinite(quick) ? quick : LogMomentWholeInLogs(q, z, order);
}

// log((1+y)^a - 1 - a y), which is >= 0 for y > -1 and a > 1, with `log_grown` = log(1 + y).
Real LogBeyondTangent(Real y, Real log_grown, Real a) {
  if (std::abs(a * y) < 0.5L && std::abs(y) < 0.05L) {  // the binomial series from its third term
    Real term = a * (a - 1) / 2 * y * y, sum = 0;
    for (Real k = 3; std::abs(term) > 1e-22L * sum; ++k) {
      sum += term;
      term *= (a - k + 1) / k * y;
    }
    return sum > 0 ? std::log(sum) : -kInfinity;
  }
  const Real exponent = (a - 1) * log_grown;
  // (1 + a y) / (1 + y) is a - (a - 1) / (1 + y).
  if (exponent > 50)
    return a * log_grown + std::log1p(-(a - (a - 1) * std::exp(-log_grown)) * std::exp(-exponent));
  return std::log((1 + y) * std::expm1(exponent) - (a - 1) * y);
}

// The trapezoid rule's points for an order's moment.
struct Trapezoid {
  static constexpr Real kReach = 9.5L;  // beyond as many deviations of either peak lies e^-45
  Trapezoid(Real z, Real order)
      : step(z * std::min<Real>(0.65L, z / 2.5L)),
        first(-kReach * z),
        count(std::ceil((std::max<Real>(order, 2) + 2 * kReach * z) / step)) {}  // small moves peak at 2
  Real step, first, count;
};

// Any order above 1: A - 1 = E [(1+y)^a - 1 - a y] with y = q (e^{(2x-1)/(2z^2)} - 1), since E y = 0; the
// convex power stands above its tangent. The rule's error falls with e^(-2 pi d/h) for a step h and a
// distance d from the real line to which the integrand is smooth: its only branch is pi z^2 away, and there
// the density has grown by e^(d^2/(2 z^2)). At these steps that is below e^-36.
Real LogMomentReal(Real q, Real z, Real order, const Trapezoid& points) {
  constexpr Real kLogSqrtTwoPi = 0.918938533204672741780329736405617639L;
  const Real precision = 1 / (z * z);
  LogSum excess;
  for (Real i = 0; i <= points.count; ++i) {
    const Real x = i * points.step + points.first;
    const Real loss = (2 * x - 1) * precision / 2;
    const bool large = loss > 11'000;  // e^loss has no number
    const Real moved = large ? 0 : q * std::expm1(loss);
    const Real log_grown = large ? loss + std::log(q) : std::log1p(moved);
    const Real beyond = LogBeyondTangent(large ? std::expm1(log_grown) : moved, log_grown, order);
    excess.Add(beyond - x * x * precision / 2);
  }
  return LogOnePlusExp(excess.Log() + std::log(points.step / z) - kLogSqrtTwoPi);
}

// Whole orders whose series would be long, bounded in closed form: with X the largest exponent, at k = a,
// e^x - 1 <= x (e^X - 1)/X for 0 <= x <= X, so A - 1 <= a (a-1) q^2/(2z^2) (e^X - 1)/X. Nor does sampling
// cost more than none. Close where X is small.
Real LongOrderRdp(Real q, Real z, Real order) {
  const Real largest = (order * order - order) / (2 * z * z);
  const Real factor = std::expm1(largest) / largest;
  return std::min(factor * order * q * q / (2 * z * z), order / (2 * z * z));
}

// log A is convex in the order and 0 at 1: between whole orders it lies below the chord.
Real LogMomentByChord(Real q, Real z, Real order) {
  const Real below = std::floor(order), share = order - below;
  const Real at_below = below < 2 ? 0 : LogMomentWhole(q, z, below);
  return (1 - share) * at_below + share * LogMomentWhole(q, z, below + 1);
}

// Beyond these, sums take long: whole orders are bounded in closed form, others by the chord between whole
// ones.
constexpr double kLongestSeries = 20'000;
constexpr Real kMostPoints = 10'000;
// From this rate on nearly everything is sampled, and sampling everything costs no less.
constexpr double kAllButSampled = 1 - 1e-9;
// More than all rounding above.
constexpr Real kRounding = 1 + 1e-13L;

Real RdpOf(double q, double z, double order) {
  const Real a = order;
  if (order > kLongestSeries) return LongOrderRdp(q, z, std::ceil(a));
  if (order == std::floor(order)) return LogMomentWhole(q, z, a) / (a - 1);
  const Trapezoid points(z, a);
  const bool many = !(points.count <= kMostPoints);
  return (many ? LogMomentByChord(q, z, a) : LogMomentReal(q, z, a, points)) / (a - 1);
}

}  // namespace

double SubsampledGaussianRdp(double q, double z, double order) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  if (!(q >= 0 && q <= 1) || !(z > 0) || !(order > 1) || std::isinf(order)) return kUnbounded;
  if (q == 0 || std::isinf(z)) return 0;
  const Real unsampled = order / (2 * static_cast<Real>(z) * z);
  if (q >= kAllButSampled) return std::nextafter(static_cast<double>(unsampled), kUnbounded);
  const Real rdp = RdpOf(q, z, order) * kRounding;
  if (!(rdp >= 0)) return kUnbounded;
  return std::nextafter(static_cast<double>(std::min(rdp, unsampled)), kUnbounded);
}

}  // namespace retort::privacy
