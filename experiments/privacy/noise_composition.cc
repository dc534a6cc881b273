#include "experiments/privacy/noise_composition.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "experiments/privacy/discrete_gaussian.h"
#include "experiments/privacy/laplace.h"
#include "experiments/privacy/panels.h"

namespace retort::privacy {
namespace {

using Real = long double;

struct Point {
  double loss = 0;
  double mass = 0;  // under P, >= 0
};

// A point between the ends of its interval; what rounding puts outside is at the end.
void AddPoint(const Point& point, double spacing, LossInterval& interval) {
  const double below = point.loss - static_cast<double>(interval.low) * spacing;
  const double above = static_cast<double>(interval.high) * spacing - point.loss;
  interval.p += point.mass;
  interval.q += point.mass * std::exp(-point.loss);
  interval.rise += point.mass * std::max(-std::expm1(-below), 0.0);
  interval.fall += point.mass * std::max(std::expm1(above), 0.0);
}

// Intervals that hold all losses up to `most` on either side of 0.
std::vector<LossInterval> EmptyIntervals(double most, double spacing) {
  constexpr std::int64_t kShare = 8192;
  const std::vector<std::int64_t> edges = LossEdges(-most, most, spacing, kShare);
  std::vector<LossInterval> intervals(edges.size() - 1);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    intervals[i].low = edges[i];
    intervals[i].high = edges[i + 1];
  }
  return intervals;
}

// Points by ascending loss.
DirectionGrid GridOfPoints(const std::vector<Point>& points, double most, double spacing) {
  std::vector<LossInterval> intervals = EmptyIntervals(most, spacing);
  std::size_t at = 0;
  for (const Point& point : points) {
    while (at + 1 < intervals.size() && point.loss > static_cast<double>(intervals[at].high) * spacing) ++at;
    AddPoint(point, spacing, intervals[at]);
  }
  DirectionGrid grid = DirectionOf(intervals, spacing);
  grid.infinite = 1e-300;  // more than all points that are too rare to be there
  return grid;
}

// Losses of Laplace noise: r with probability 1/2, -r with e^-r/2, and between them the density e^{(l-r)/2}/4.
void AddLaplaceDensity(double ratio, double spacing, LossInterval& interval) {
  constexpr double kRate = 1.6;  // that of e^(3/2 loss), the fastest of an interval's integrands, and a little more
  const double low = std::max(static_cast<double>(interval.low) * spacing, -ratio);
  const double high = std::min(static_cast<double>(interval.high) * spacing, ratio);
  if (!(high > low)) return;
  OverPanels(low, high, kRate, [&](double loss, double weight) {
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
  return DirectionOf(intervals, spacing);
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
  LossBracket bracket = BracketOfSum(release, count, delta, kPrecision, {});
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
  return count >= 1 && count <= kMostComposed && delta > 0 && delta < 1;
}

// Deltas at epsilon 0 add up. That of one may have been rounded down to the next of the least doubles.
bool NothingToSee(std::int64_t count, double delta_of_one, double delta) {
  return static_cast<double>(count) * std::nextafter(delta_of_one, 1.0) * (1 + 1e-9) <= delta;
}

}  // namespace

LossBracket ComposedLaplace(double ratio, std::int64_t count, double delta) {
  if (!(ratio > 0 && ratio <= kMostLossOfOne) || !InRange(count, delta)) return {};
  LossBracket nothing;
  nothing.upper = 0;
  if (NothingToSee(count, LaplaceDelta(ratio, 0), delta)) return nothing;
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

LossBracket ComposedDiscreteGaussian(double sigma, std::int64_t sensitivity, std::int64_t count, double delta) {
  const auto change = static_cast<double>(sensitivity);
  if (!(sigma > 0 && sigma <= kWidestComposed) || sensitivity < 1 || !InRange(count, delta)) return {};
  if (!(change * (change + 1) / (2 * sigma * sigma) <= kMostLossOfOne)) return {};
  LossBracket nothing;
  nothing.upper = 0;
  if (NothingToSee(count, DiscreteGaussianDelta(sigma, sensitivity, 0), delta)) return nothing;
  const std::vector<Point> points = DiscreteGaussianPoints(sigma, change);
  const double most = points.back().loss;
  const ReleaseLoss release =
      Estimated(points, [&](double spacing) { return GridOfPoints(points, most, spacing); });
  return Bracket(release, most, count, delta);
}

}  // namespace retort::privacy
