#include "experiments/privacy/accountants/scalar_noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/panels.h"

namespace retort::privacy {
namespace {

using Real = long double;

struct Point {
  double loss = 0;
  double mass = 0;  // under P, >= 0
};

// Adds a point to its interval; one that rounding puts outside counts as at the end.
void AddPoint(const Point& point, double spacing, LossInterval& interval) {
  const double below = point.loss - static_cast<double>(interval.low) * spacing;
  const double above = static_cast<double>(interval.high) * spacing - point.loss;
  interval.p += point.mass;
  interval.q += point.mass * std::exp(-point.loss);
  interval.rise += point.mass * std::max(-std::expm1(-below), 0.0);
  interval.fall += point.mass * std::max(std::expm1(above), 0.0);
}

// Returns intervals that hold all losses up to `most` on either side of 0.
std::vector<LossInterval> EmptyIntervals(double most, double spacing) {
  constexpr std::int64_t kShare = 8192;
  const std::vector<std::int64_t> edges = MakeLossEdges(-most, most, spacing, kShare);
  std::vector<LossInterval> intervals(edges.size() - 1);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    intervals[i].low = edges[i];
    intervals[i].high = edges[i + 1];
  }
  return intervals;
}

// REQUIRES: points by ascending loss.
DirectionGrid GridOfPoints(const std::vector<Point>& points, double most, double spacing) {
  std::vector<LossInterval> intervals = EmptyIntervals(most, spacing);
  std::size_t at = 0;
  for (const Point& point : points) {
    while (at + 1 < intervals.size() && point.loss > static_cast<double>(intervals[at].high) * spacing) ++at;
    AddPoint(point, spacing, intervals[at]);
  }
  return MakeDirectionGrid(intervals, spacing);
}

// Losses of Laplace noise: r with probability 1/2, -r with e^-r/2, and between them the density e^{(l-r)/2}/4.
void AddLaplaceDensity(double ratio, double spacing, LossInterval& interval) {
  constexpr double kRate = 1.6;  // that of e^(3/2 loss), the fastest of an interval's integrands, and a little more
  const double low = std::max(static_cast<double>(interval.low) * spacing, -ratio);
  const double high = std::min(static_cast<double>(interval.high) * spacing, ratio);
  if (!(high > low)) return;
  VisitPanels(low, high, kRate, [&](double loss, double weight) {
    AddPoint({loss, weight * std::exp((loss - ratio) / 2) / 4}, spacing, interval);
  });
}

DirectionGrid LaplaceGrid(double ratio, double spacing) {
  std::vector<LossInterval> intervals = EmptyIntervals(ratio, spacing);
  for (LossInterval& interval : intervals) AddLaplaceDensity(ratio, spacing, interval);
  const auto holds = [&](double loss) {
    return [=](const LossInterval& interval) { return loss <= static_cast<double>(interval.high) * spacing; };
  };
  const auto at = [&](double loss) -> LossInterval& {
    const auto found = std::find_if(intervals.begin(), intervals.end(), holds(loss));
    return found == intervals.end() ? intervals.back() : *found;
  };
  AddPoint({-ratio, std::exp(-ratio) / 2}, spacing, at(-ratio));
  AddPoint({ratio, 0.5}, spacing, at(ratio));
  return MakeDirectionGrid(intervals, spacing);
}

// Losses of the discrete Gaussian, ascending: D (D/2 - x) / sigma^2 with probability proportional to
// e^{-x^2/(2 sigma^2)}.
std::vector<Point> DiscreteGaussianPoints(double sigma, double sensitivity) {
  const Real s = sigma;
  const Real precision = 1 / (2 * s * s);
  const Real reach = std::ceil(38 * s) + 2;  // beyond it nothing is left of a probability
  Real all = 0.5L;
  for (Real x = reach; x >= 1; --x) all += std::exp(-x * x * precision);
  all *= 2;
  std::vector<Point> points;
  const Real change = sensitivity;
  for (Real x = reach; x >= -reach; --x) {
    const auto mass = static_cast<double>(std::exp(-x * x * precision) / all);
    if (mass > 0) points.push_back({static_cast<double>(change * (change - 2 * x) * precision), mass});
  }
  return points;
}

// The bracket of a release whose losses, at most `most` in size, are off by a few units in the last place each.
LossBracket Bracket(const ReleaseLoss& release, double most, std::int64_t count, double delta) {
  constexpr double kPrecision = 2.5e-5;
  LossBracket bracket = BracketSum(release, count, delta, kPrecision, {});
  const double rounding = 2e-15 * most * static_cast<double>(count);
  bracket.upper += rounding;
  bracket.lower = std::max(bracket.lower - rounding, 0.0);
  return bracket;
}

ReleaseLoss Estimated(const std::vector<Point>& points, std::function<DirectionGrid(double)> grid) {
  ReleaseLoss release;
  for (const Point& point : points) {
    release.loss.push_back(point.loss);
    release.mass.push_back(point.mass);
  }
  release.grid = std::move(grid);
  return release;
}

bool InRange(std::int64_t count, double delta) {
  return count >= 1 && count <= kMaxComposedCount && delta > 0 && delta < 1;
}

// Deltas at epsilon 0 add up. That of one may have been rounded down to the next of the least doubles.
bool IsBelowDelta(std::int64_t count, double delta_of_one, double delta) {
  return static_cast<double>(count) * std::nextafter(delta_of_one, 1.0) * (1 + 1e-9) <= delta;
}

}  // namespace

LossBracket ComposeLaplace(double ratio, std::int64_t count, double delta) {
  if (!(ratio > 0 && ratio <= kMaxSingleLoss) || !InRange(count, delta)) return {};
  LossBracket nothing;
  nothing.upper = 0;
  if (IsBelowDelta(count, ComputeLaplaceDelta(ratio, 0), delta)) return nothing;
  constexpr int kPoints = 400;
  std::vector<Point> sample = {{-ratio, std::exp(-ratio) / 2}};
  const double width = 2 * ratio / kPoints;
  for (int i = 0; i < kPoints; ++i) {
    const double loss = -ratio + (i + 0.5) * width;
    sample.push_back({loss, width * std::exp((loss - ratio) / 2) / 4});
  }
  sample.push_back({ratio, 0.5});
  ReleaseLoss release = Estimated(sample, [=](double spacing) { return LaplaceGrid(ratio, spacing); });
  release.most_tilt = 4 + 20 / ratio;
  return Bracket(release, ratio, count, delta);
}

LossBracket ComposeDiscreteGaussian(double sigma, std::int64_t sensitivity, std::int64_t count, double delta) {
  const auto change = static_cast<double>(sensitivity);
  if (!(sigma > 0 && sigma <= kMaxComposedSigma) || sensitivity < 1 || !InRange(count, delta)) return {};
  if (!(change * (change + 1) / (2 * sigma * sigma) <= kMaxSingleLoss)) return {};
  LossBracket nothing;
  nothing.upper = 0;
  if (IsBelowDelta(count, ComputeDiscreteGaussianDelta(sigma, sensitivity, 0), delta)) return nothing;
  const std::vector<Point> points = DiscreteGaussianPoints(sigma, change);
  const double most = points.back().loss;
  const ReleaseLoss release = Estimated(points, [&](double spacing) { return GridOfPoints(points, most, spacing); });
  return Bracket(release, most, count, delta);
}

namespace {

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

double ComputeLaplaceDelta(double ratio, double epsilon) {
  if (!(ratio > 0) || !std::isfinite(ratio) || !(epsilon >= 0)) return 1;
  return epsilon >= ratio ? 0 : -std::expm1((epsilon - ratio) / 2);
}

double ComputeLaplaceEpsilon(double ratio, double delta) {
  constexpr double kFewRoundings = 4 * std::numeric_limits<double>::epsilon();
  if (!(ratio > 0) || !(delta > 0 && delta < 1)) return kInfinity;
  return std::max(0.0, ratio * (1 + kFewRoundings) + 2 * std::log1p(-delta) * (1 - kFewRoundings));
}

double ComputeLaplaceRdp(double ratio, double order) {
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

double ComputeDiscreteGaussianDelta(double sigma, std::int64_t sensitivity, double epsilon) {
  if (!(sigma > 0 && sigma <= kMaxDiscreteGaussianSigma) || sensitivity < 1 || !(epsilon >= 0) || std::isinf(epsilon)) {
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
