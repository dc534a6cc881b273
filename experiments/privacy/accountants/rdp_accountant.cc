#include "experiments/privacy/accountants/rdp_accountant.h"

#include <boost/math/tools/toms748_solve.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/reasons.h"

namespace retort::privacy {
namespace {

struct Candidate {
  double order = 0;
  double epsilon = kInfinity;
};

using Conversion = std::function<double(double rdp, double order)>;

// Evaluates the curve at one order, and remembers whether it ever came out negative or undefined.
class Probe {
 public:
  Probe(const std::function<double(double)>& curve, Conversion conversion)
      : curve_(curve), conversion_(std::move(conversion)) {}

  [[nodiscard]] Candidate At(double order) {
    const double rdp = curve_(order);
    if (std::isnan(rdp) || rdp < 0) wrong_ = true;
    return {order, conversion_(rdp, order)};
  }
  [[nodiscard]] bool wrong() const { return wrong_; }

 private:
  const std::function<double(double)>& curve_;
  Conversion conversion_;
  bool wrong_ = false;
};

std::size_t IndexOfBest(const std::vector<Candidate>& grid) {
  const auto better = [](const Candidate& a, const Candidate& b) { return a.epsilon < b.epsilon; };
  return static_cast<std::size_t>(std::min_element(grid.begin(), grid.end(), better) - grid.begin());
}

// Where the parabola through three points is lowest; NaN or outside when it is no valley.
double Vertex(double a, double at_a, double m, double at_m, double b, double at_b) {
  const double left = (m - a) * (at_m - at_b);
  const double right = (m - b) * (at_m - at_a);
  return m - ((m - a) * left - (m - b) * right) / (2 * (left - right));
}

struct Valley {
  Candidate low, best, high;
};

// Narrowed to neighbouring whole orders, which cost a fraction of the others.
Valley NarrowedToWhole(Probe& probe, Valley valley) {
  constexpr double kGolden = 0.3819660112501051;
  const auto step = [](double distance) { return std::max(1.0, std::round(kGolden * distance)); };
  while (valley.best.order >= 3) {
    const double below = valley.best.order - valley.low.order;
    const double above = valley.high.order - valley.best.order;
    if (below <= 1 && above <= 1) break;
    const bool up = above > below;
    const Candidate next = probe.At(up ? valley.best.order + step(above) : valley.best.order - step(below));
    if (next.epsilon < valley.best.epsilon) {
      (up ? valley.low : valley.high) = valley.best;
      valley.best = next;
    } else {
      (up ? valley.high : valley.low) = next;
    }
  }
  return valley;
}

// The valley between three orders, in log(order - 1): by parabolas, and by golden section where they fail. It
// is flat to 1e-7 within a thousandth.
Candidate Refine(Probe& probe, Valley valley) {
  auto& [low, best, high] = valley;
  constexpr double kWidth = 3e-4;
  constexpr double kNear = 0.01;
  constexpr double kGolden = 0.3819660112501051;
  for (int round = 0; round < 60; ++round) {
    const double a = std::log(low.order - 1);
    const double m = std::log(best.order - 1);
    const double b = std::log(high.order - 1);
    double t = Vertex(a, low.epsilon, m, best.epsilon, b, high.epsilon);
    const bool still = std::abs(t - m) < kWidth;
    const double wider = std::max(b - m, m - a);
    if (wider <= kWidth || (still && wider <= 1.5 * kNear)) break;
    // Far ends mislead a parabola: where it stands still, each side is tried close by.
    const double side = b - m > m - a ? 1 : -1;
    if (still)
      t = m + side * std::min(kNear, kGolden * wider);
    else if (!(t > a && t < b) || round % 6 == 5)
      t = m + side * kGolden * wider;
    const Candidate next = probe.At(1 + std::exp(t));
    if (next.epsilon < best.epsilon) {
      (t < m ? high : low) = best;
      best = next;
    } else {
      (t < m ? low : high) = next;
    }
  }
  return best;
}

RdpEpsilon Finished(const Candidate& best) {
  if (!std::isfinite(best.epsilon)) return {kInfinity, 0, std::string(reason::kNoFiniteOrder)};
  return {std::max(best.epsilon, 0.0), best.order, ""};
}

RdpEpsilon Search(Probe probe) {
  constexpr double kLowest = 1 + 1e-6;
  constexpr double kHighest = 1e8;
  std::vector<Candidate> grid;
  for (const double order : {2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0}) grid.push_back(probe.At(order));
  while (!probe.wrong()) {
    const std::size_t best = IndexOfBest(grid);
    if (!std::isfinite(grid[best].epsilon) || best == 0) {
      const double next = 1 + (grid.front().order - 1) / 4;
      if (next < kLowest) break;
      grid.insert(grid.begin(), probe.At(next));
    } else if (best + 1 == grid.size()) {
      const double next = grid.back().order * 2 - 1;
      if (next > kHighest) break;
      grid.push_back(probe.At(next));
    } else {
      break;
    }
  }
  const std::size_t middle = IndexOfBest(grid);
  Candidate best = grid[middle];
  if (!probe.wrong() && std::isfinite(best.epsilon) && best.epsilon > 0) {
    const bool inside = middle > 0 && middle + 1 < grid.size();
    if (inside) best = Refine(probe, NarrowedToWhole(probe, {grid[middle - 1], best, grid[middle + 1]}));
  }
  if (probe.wrong()) return {kInfinity, 0, std::string(reason::kWrongRdp)};
  return Finished(best);
}

// The least 2e that one order gives under replace-one: with r the order's share of e, e = r - x/(order - 1)
// at log d = x, and x + log(1 + e^e) <= log delta. Orders up to 2 have no such x in general.
double PairEpsilon(double rdp, double order, double delta) {
  if (order <= 2) return kInfinity;
  const double target = std::log(delta);
  const auto epsilon = [=](double x) {
    const double more = (std::log(0.5) - x) / (order - 1);
    return std::max(0.0, (ConvertRdp(rdp, order, 0.5, RdpConversion::canonne_kamath_steinke) + more) + 1e-15 * more);
  };
  if (!std::isfinite(epsilon(target))) return kInfinity;
  const auto fits = [&](double x) {
    const double e = epsilon(x);
    return x + e + std::log1p(std::exp(-e)) <= target;
  };
  double high = target;
  double low = target - 1;
  while (!fits(low)) {
    high = low;
    low = 2 * low - target;
    if (low < -1e6) return kInfinity;
  }
  for (int round = 0; round < 60 && high - low > 1e-10; ++round) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return 2 * epsilon(low);
}

bool IsPossibleDelta(double delta) { return delta > 0 && delta < 1; }

// Whether epsilon 0 holds at delta: the total variation between neighbours is at most sqrt(1 - e^-KL)
// [Bretagnolle-Huber 1979], and KL is at most the RDP of any order above 1.
bool IsBelowDelta(double rdp, double delta) {
  constexpr double kRounding = 1 + 1e-9;
  constexpr double kMinDelta = 1e-150;  // whose square keeps its digits
  return rdp >= 0 && delta >= kMinDelta && delta * delta + std::expm1(-rdp * kRounding) > 0;
}

// `found`, or 0 where a low order's RDP is too small for delta to see. Low orders are the least, and slower
// to compute: what is far above at order 2 is not asked for at less.
RdpEpsilon UnlessNothing(RdpEpsilon found, const std::function<double(double)>& curve, double delta) {
  if (found.reason == reason::kWrongRdp || found.epsilon == 0 || !IsPossibleDelta(delta)) return found;
  constexpr double kLow = 1.1, kFar = 1e6;
  const double two = curve(2);
  if (IsBelowDelta(two, delta)) return {0, 2, ""};
  if (std::isfinite(two) && two < kFar * delta * delta && IsBelowDelta(curve(kLow), delta)) return {0, kLow, ""};
  return found;
}

}  // namespace

double ConvertRdp(double rdp, double order, double delta, RdpConversion conversion) {
  if (std::isnan(rdp) || rdp < 0 || !(order > 1) || !IsPossibleDelta(delta)) return kInfinity;
  // What rounding may take away, so that a sum that cancels does not come out as nothing.
  constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
  const double share = -std::log(delta) / (order - 1);
  if (conversion == RdpConversion::mironov) return (rdp + share) * (1 + kRounding);
  const double kept = order < 2 ? std::log((order - 1) / order) : std::log1p(-1 / order);
  const double less = std::log(order) / (order - 1);
  return (rdp + kept + share - less) + kRounding * (rdp - kept + share + less);
}

RdpEpsilon FindBestOrder(const std::vector<double>& orders, const std::vector<double>& rdp, double delta,
                         RdpConversion conversion) {
  if (orders.size() != rdp.size()) return {kInfinity, 0, std::string(reason::kWrongRdp)};
  Candidate best;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (std::isnan(rdp[i]) || rdp[i] < 0) return {kInfinity, 0, std::string(reason::kWrongRdp)};
    const bool newer = conversion == RdpConversion::canonne_kamath_steinke && orders[i] > 1 && IsPossibleDelta(delta);
    const bool nothing = newer && IsBelowDelta(rdp[i], delta);
    const double epsilon = nothing ? 0 : ConvertRdp(rdp[i], orders[i], delta, conversion);
    if (epsilon < best.epsilon) best = {orders[i], epsilon};
  }
  return Finished(best);
}

RdpEpsilon ComputeEpsilonFromRdp(const std::function<double(double)>& curve, double delta, RdpConversion conversion) {
  RdpEpsilon found =
      Search(Probe(curve, [=](double rdp, double order) { return ConvertRdp(rdp, order, delta, conversion); }));
  if (conversion == RdpConversion::mironov) return found;
  return UnlessNothing(std::move(found), curve, delta);
}

RdpEpsilon ReplaceOneEpsilon(const std::function<double(double)>& curve, double delta) {
  if (!IsPossibleDelta(delta)) return {kInfinity, 0, std::string(reason::kNoFiniteOrder)};
  RdpEpsilon found = Search(Probe(curve, [=](double rdp, double order) { return PairEpsilon(rdp, order, delta); }));
  // (0, d) twice is (0, 2d).
  return UnlessNothing(std::move(found), curve, delta / 2);
}

RdpEpsilon ComputeSubsampledGaussianEpsilon(double q, double z, double steps, double delta) {
  if (!(steps >= 0) || std::isinf(steps)) return {kInfinity, 0, std::string(reason::kWrongRdp)};
  return ComputeEpsilonFromRdp([=](double order) { return steps * ComputeSubsampledGaussianRdp(q, z, order); }, delta);
}

double ComputeSubsampledGaussianNoise(double q, double steps, double delta, double epsilon) {
  constexpr double kMax = 1e6;
  if (!(q > 0 && q <= 1) || !(steps > 0) || !IsPossibleDelta(delta) || !(epsilon > 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto excess = [=](double z) { return ComputeSubsampledGaussianEpsilon(q, z, steps, delta).epsilon - epsilon; };
  double high = 1;
  double at_high = excess(high);
  double low = high;
  double at_low = at_high;
  while (!(at_high <= 0)) {
    low = high;
    at_low = at_high;
    at_high = excess(high *= 2);
    if (high > kMax) return kInfinity;
  }
  while (at_low <= 0 && low > 1e-6) {
    high = low;
    at_high = at_low;
    at_low = excess(low /= 2);
  }
  if (at_high < 0 && at_low > 0 && std::isfinite(at_low)) {
    boost::uintmax_t rounds = 60;
    const auto narrow = [](double a, double b) { return b - a <= 1e-9 * b; };
    high = boost::math::tools::toms748_solve(excess, low, high, at_low, at_high, narrow, rounds).second;
  }
  // The search over orders leaves steps of about 1e-7 in the curve.
  while (excess(high) > 0) high *= 1 + 1e-9;
  return high;
}

// Moments of the Poisson-subsampled Gaussian: A(a) = E_{x ~ N(0, z^2)} [((1-q) + q e^{(2x-1)/(2z^2)})^a],
// RDP(a) = log A(a) / (a - 1). Small moments keep their digits: what is summed is A - 1, of positive terms
// alone.

namespace {

using Real = long double;

constexpr Real kRealInfinity = std::numeric_limits<Real>::infinity();

// A sum of positive terms given by their logarithms, kept relative to the largest.
class LogSum {
 public:
  void Add(Real log_term) {
    if (!(log_term > scale_ - kNegligible)) return;
    if (log_term > scale_) {
      sum_ = scale_ == -kRealInfinity ? 0 : sum_ * std::exp(scale_ - log_term);
      scale_ = log_term;
    }
    sum_ += std::exp(log_term - scale_);
  }
  [[nodiscard]] Real Log() const { return scale_ == -kRealInfinity ? -kRealInfinity : scale_ + std::log(sum_); }

 private:
  static constexpr Real kNegligible = 65;  // beyond the last digit
  Real scale_ = -kRealInfinity;
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
  if (!std::isnormal(start)) return kRealInfinity;
  const Real rate = std::expm1(1 / (z * z));
  Real weight = start * order * odds;  // C(a,k) (1-q)^(a-k) q^k at k = 1
  Real growth = 0;                     // e^{(k^2-k)/(2z^2)} - 1
  Real ratio = rate;                   // e^{k/z^2} - 1
  Real excess = 0;
  for (Real k = 2; k <= order; ++k) {
    weight *= odds * (order - k + 1) / k;
    growth += ratio * (1 + growth);
    ratio += rate * (1 + ratio);
    if (!std::isnormal(weight) || !std::isnormal(growth)) return kRealInfinity;
    excess += weight * growth;
  }
  return std::isfinite(excess) ? std::log1p(excess) : kRealInfinity;
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
    return sum > 0 ? std::log(sum) : -kRealInfinity;
  }
  const Real exponent = (a - 1) * log_grown;
  // (1 + a y) / (1 + y) is a - (a - 1) / (1 + y).
  if (exponent > 50) return a * log_grown + std::log1p(-(a - (a - 1) * std::exp(-log_grown)) * std::exp(-exponent));
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
  constexpr Real kLogDensityOffset = 0.918938533204672741780329736405617639L;
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
  return LogOnePlusExp(excess.Log() + std::log(points.step / z) - kLogDensityOffset);
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
constexpr double kMaxSeries = 20'000;
constexpr Real kMaxOrders = 10'000;
// From this rate on nearly everything is sampled, and sampling everything costs no less.
constexpr double kAllButSampled = 1 - 1e-9;
// More than all rounding above.
constexpr Real kRounding = 1 + 1e-13L;

Real ComputeRdp(double q, double z, double order) {
  const Real a = order;
  if (order > kMaxSeries) return LongOrderRdp(q, z, std::ceil(a));
  if (order == std::floor(order)) return LogMomentWhole(q, z, a) / (a - 1);
  const Trapezoid points(z, a);
  const bool many = !(points.count <= kMaxOrders);
  return (many ? LogMomentByChord(q, z, a) : LogMomentReal(q, z, a, points)) / (a - 1);
}

}  // namespace

double ComputeSubsampledGaussianRdp(double q, double z, double order) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  if (!(q >= 0 && q <= 1) || !(z > 0) || !(order > 1) || std::isinf(order)) return kUnbounded;
  if (q == 0 || std::isinf(z)) return 0;
  const Real unsampled = order / (2 * static_cast<Real>(z) * z);
  if (q >= kAllButSampled) return std::nextafter(static_cast<double>(unsampled), kUnbounded);
  const Real rdp = ComputeRdp(q, z, order) * kRounding;
  if (!(rdp >= 0)) return kUnbounded;
  return std::nextafter(static_cast<double>(std::min(rdp, unsampled)), kUnbounded);
}

}  // namespace retort::privacy
