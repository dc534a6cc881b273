#include "experiments/privacy/rdp_accountant.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "experiments/privacy/reasons.h"

namespace retort::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Candidate {
  double order = 0;
  double epsilon = kInfinity;
};

using Conversion = std::function<double(double rdp, double order)>;

// The curve at one order; remembers whether it ever came out negative or undefined.
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

bool ValidDelta(double delta) { return delta > 0 && delta < 1; }

// Does epsilon 0 hold at delta? The total variation between neighbours is at most sqrt(1 - e^-KL)
// [Bretagnolle-Huber 1979], and KL is at most the RDP of any order above 1.
bool NothingToSee(double rdp, double delta) {
  constexpr double kRounding = 1 + 1e-9;
  constexpr double kLeastDelta = 1e-150;  // whose square keeps its digits
  return rdp >= 0 && delta >= kLeastDelta && delta * delta + std::expm1(-rdp * kRounding) > 0;
}

// `found`, or 0 where a low order's RDP is too small for delta to see. Low orders are the least, and slower
// to compute: what is far above at order 2 is not asked for at less.
RdpEpsilon UnlessNothing(RdpEpsilon found, const std::function<double(double)>& curve, double delta) {
  if (found.reason == reason::kWrongRdp || found.epsilon == 0 || !ValidDelta(delta)) return found;
  constexpr double kLow = 1.1, kFar = 1e6;
  const double two = curve(2);
  if (NothingToSee(two, delta)) return {0, 2, ""};
  if (std::isfinite(two) && two < kFar * delta * delta && NothingToSee(curve(kLow), delta))
    return {0, kLow, ""};
  return found;
}

}  // namespace

double ConvertRdp(double rdp, double order, double delta, RdpConversion conversion) {
  if (std::isnan(rdp) || rdp < 0 || !(order > 1) || !ValidDelta(delta)) return kInfinity;
  // What rounding may take away, so that a sum that cancels does not come out as nothing.
  constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
  const double share = -std::log(delta) / (order - 1);
  if (conversion == RdpConversion::mironov) return (rdp + share) * (1 + kRounding);
  const double kept = order < 2 ? std::log((order - 1) / order) : std::log1p(-1 / order);
  const double less = std::log(order) / (order - 1);
  return (rdp + kept + share - less) + kRounding * (rdp - kept + share + less);
}

RdpEpsilon BestOrder(const std::vector<double>& orders, const std::vector<double>& rdp, double delta,
                     RdpConversion conversion) {
  if (orders.size() != rdp.size()) return {kInfinity, 0, std::string(reason::kWrongRdp)};
  Candidate best;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (std::isnan(rdp[i]) || rdp[i] < 0) return {kInfinity, 0, std::string(reason::kWrongRdp)};
    const bool newer =
        conversion == RdpConversion::canonne_kamath_steinke && orders[i] > 1 && ValidDelta(delta);
    const bool nothing = newer && NothingToSee(rdp[i], delta);
    const double epsilon = nothing ? 0 : ConvertRdp(rdp[i], orders[i], delta, conversion);
    if (epsilon < best.epsilon) best = {orders[i], epsilon};
  }
  return Finished(best);
}

RdpEpsilon EpsilonFromRdp(const std::function<double(double)>& curve, double delta,
                          RdpConversion conversion) {
  RdpEpsilon found = Search(
      Probe(curve, [=](double rdp, double order) { return ConvertRdp(rdp, order, delta, conversion); }));
  if (conversion == RdpConversion::mironov) return found;
  return UnlessNothing(std::move(found), curve, delta);
}

RdpEpsilon ReplaceOneEpsilon(const std::function<double(double)>& curve, double delta) {
  if (!ValidDelta(delta)) return {kInfinity, 0, std::string(reason::kNoFiniteOrder)};
  RdpEpsilon found =
      Search(Probe(curve, [=](double rdp, double order) { return PairEpsilon(rdp, order, delta); }));
  // (0, d) twice is (0, 2d).
  return UnlessNothing(std::move(found), curve, delta / 2);
}

RdpEpsilon SubsampledGaussianEpsilon(double q, double z, double steps, double delta) {
  if (!(steps >= 0) || std::isinf(steps)) return {kInfinity, 0, std::string(reason::kWrongRdp)};
  return EpsilonFromRdp([=](double order) { return steps * SubsampledGaussianRdp(q, z, order); }, delta);
}

double SubsampledGaussianNoise(double q, double steps, double delta, double epsilon) {
  constexpr double kMost = 1e6;
  if (!(q > 0 && q <= 1) || !(steps > 0) || !ValidDelta(delta) || !(epsilon > 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto excess = [=](double z) {
    return SubsampledGaussianEpsilon(q, z, steps, delta).epsilon - epsilon;
  };
  double high = 1;
  double at_high = excess(high);
  double low = high;
  double at_low = at_high;
  while (!(at_high <= 0)) {
    low = high;
    at_low = at_high;
    at_high = excess(high *= 2);
    if (high > kMost) return kInfinity;
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

}  // namespace retort::privacy
