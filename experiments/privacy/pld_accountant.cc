#include "experiments/privacy/pld_accountant.h"

#include <algorithm>
#include <bit>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "experiments/privacy/loss_composition.h"
#include "experiments/privacy/loss_grid.h"
#include "experiments/privacy/rdp_accountant.h"
#include "experiments/privacy/reasons.h"
#include "experiments/privacy/subsampled_delta.h"

namespace retort::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostSteps = 1'000'000'000'000;
constexpr std::size_t kFewestPoints = std::size_t{1} << 12;
constexpr std::size_t kMostPoints = std::size_t{1} << 20;

// log of the tilted moment of one step, its mean and its variance, from sampled points.
struct Moments {
  double log = 0, mean = 0, variance = 0;
};

Moments MomentsAt(const std::vector<double>& loss, const std::vector<double>& mass, double sign,
                  double tilt) {
  double most = -kInfinity;
  std::vector<double> logs(loss.size());
  for (std::size_t i = 0; i < loss.size(); ++i) {
    logs[i] = std::log(mass[i]) + tilt * sign * loss[i];
    most = std::max(most, logs[i]);
  }
  double sum = 0;
  double first = 0;
  double second = 0;
  for (std::size_t i = 0; i < loss.size(); ++i) {
    const double weight = std::exp(logs[i] - most);
    sum += weight;
    first += weight * loss[i];
    second += weight * loss[i] * loss[i];
  }
  const double mean = first / sum;
  return {most + std::log(sum), sign * mean, std::max(second / sum - mean * mean, 0.0)};
}

// A direction's tilt, scale and extent, estimated.
struct Outlook {
  double tilt = 1, deviation = 1, epsilon = 0;
  double low = 0, extent = 0;  // window of the tilted sum
  double rise = 1, fall = 1;   // exponents of its tail bounds
};

Outlook OutlookOf(const LossSample& sample, bool remove, double steps, double delta) {
  const std::vector<double>& mass = remove ? sample.remove : sample.add;
  const double sign = remove ? 1 : -1;
  const auto moments = [&](double tilt) { return MomentsAt(sample.loss, mass, sign, tilt); };
  // Chernoff: delta(epsilon) <= e^{steps * log moment - tilt * epsilon}, best where the mean is epsilon.
  const auto bound = [&](double log_tilt) {
    const double tilt = std::exp(log_tilt);
    return (steps * moments(tilt).log - std::log(delta)) / tilt;
  };
  constexpr double kGolden = 0.6180339887498949;
  double from = std::log(1e-4);
  double to = std::log(1e8);
  double left = to - kGolden * (to - from);
  double right = from + kGolden * (to - from);
  double at_left = bound(left);
  double at_right = bound(right);
  while (to - from > 1e-2) {
    if (at_left < at_right) {
      to = right;
      right = left;
      at_right = at_left;
      at_left = bound(left = to - kGolden * (to - from));
    } else {
      from = left;
      left = right;
      at_left = at_right;
      at_right = bound(right = from + kGolden * (to - from));
    }
  }
  Outlook outlook;
  outlook.tilt = std::exp((from + to) / 2);
  const Moments best = moments(outlook.tilt);
  outlook.epsilon = steps * best.mean;
  outlook.deviation = std::sqrt(steps * best.variance);
  // Sums rarer than e^-18 (tilted) are left out on both sides; above the window they weigh less still.
  constexpr double kRare = 18;
  outlook.low = -kInfinity;
  double high = kInfinity;
  double reach = kInfinity;
  for (double turn = 0.5; turn < 40; turn *= 1.4) {
    const double theta = turn / outlook.deviation;
    const double up = steps * (moments(outlook.tilt + theta).log - best.log);
    const double down = steps * (moments(outlook.tilt - theta).log - best.log);
    high = std::min(high, (kRare + up + outlook.tilt * outlook.epsilon) / (theta + outlook.tilt));
    if ((kRare + up) / theta < reach) {
      reach = (kRare + up) / theta;
      outlook.rise = theta;
    }
    if (-(kRare + down) / theta > outlook.low) {
      outlook.low = -(kRare + down) / theta;
      outlook.fall = theta;
    }
  }
  // The epsilon at delta lies below the Chernoff bound, by about a deviation.
  outlook.extent = std::max(high - outlook.low, reach - outlook.epsilon + 1.5 * outlook.deviation);
  return outlook;
}

struct Measured {
  LossBounds bounds;
  double spacing = 0;
  std::size_t points = 0;
};

// What is enough to stop refining: an upper bound that another one exceeds, or a narrow bracket.
struct Enough {
  double upper = 0;
  double width = 1e-3;  // relative
};

// One direction. Spreading a loss inside an interval of width h adds about h^2/6 to its variance, and so
// about (1 + tilt) * steps * h^2 / 12 to epsilon, of which `precision` is wanted (relative).
Measured Measure(const SubsampledStep& step, bool remove, std::int64_t steps, double delta,
                 const Outlook& outlook, double precision, const Enough& enough) {
  const auto count = static_cast<double>(steps);
  const double fine =
      std::sqrt(12 * precision * std::max(outlook.epsilon, 1e-3) / ((1 + outlook.tilt) * count));
  const double wanted = std::clamp(1.02 * outlook.extent / fine, static_cast<double>(kFewestPoints),
                                   static_cast<double>(kMostPoints));
  Measured best;
  best.bounds.upper = kInfinity;
  const std::size_t first = std::bit_ceil(static_cast<std::size_t>(wanted));
  for (std::size_t points = first; points <= kMostPoints; points *= 2) {
    const double spacing = 1.02 * outlook.extent / static_cast<double>(points);
    LossWindow window;
    window.tilt = outlook.tilt;
    window.rise = outlook.rise;
    window.fall = outlook.fall;
    window.first = static_cast<std::int64_t>(std::floor((outlook.low - 0.01 * outlook.extent) / spacing));
    window.points = points;
    const LossGrid grid = GridOf(step, spacing);
    const FourierPlan plan(points);
    const LossBounds bounds =
        BoundsOfSum(remove ? grid.remove : grid.add, spacing, steps, delta, window, plan);
    best.spacing = spacing;
    best.points = points;
    best.bounds.upper = std::min(best.bounds.upper, bounds.upper);
    best.bounds.lower = std::max(best.bounds.lower, bounds.lower);
    if (std::isinf(best.bounds.upper)) {
      if (points >= 4 * first) break;
      continue;
    }
    if (best.bounds.upper <= enough.upper) break;
    if (best.bounds.upper - best.bounds.lower <= enough.width * best.bounds.upper + 1e-6) break;
  }
  return best;
}

bool InRange(double q, double z, std::int64_t steps, double delta) {
  return q > 0 && q <= 1 && z > 0 && std::isfinite(z) && steps >= 1 && delta > 0 && delta < 1;
}

// Of the grid alone.
PldBracket GridBracket(double q, double z, std::int64_t steps, double delta, double width) {
  PldBracket bracket;
  bracket.upper = kInfinity;
  if (steps > kMostSteps || z < kLeastMultiplier) return bracket;
  const auto count = static_cast<double>(steps);
  const SubsampledStep step{q, z, std::max(1e-7 * delta / count, 1e-300)};
  const LossSample sample = SampleOf(step);
  const auto measure = [&](bool remove, double precision, const Enough& enough) {
    const Outlook outlook = OutlookOf(sample, remove, count, delta);
    Measured none;
    none.bounds.upper = kInfinity;
    if (!std::isfinite(outlook.low) || !std::isfinite(outlook.extent) || !(outlook.deviation > 0))
      return none;
    return Measure(step, remove, steps, delta, outlook, precision, enough);
  };
  const auto take = [&bracket](const Measured& measured, bool remove) {
    bracket.lower = std::max(bracket.lower, measured.bounds.lower);
    if (!remove && measured.bounds.upper <= bracket.upper) return;
    bracket.upper = measured.bounds.upper;
    bracket.removal_binds = remove;
    bracket.spacing = measured.spacing;
    bracket.points = static_cast<std::int64_t>(measured.points);
  };
  take(measure(true, 2.5e-5, {0, width}), true);
  // Adding an example loses at most -log(1 - q) in a step.
  if (-std::log1p(-q) * count > bracket.upper) take(measure(false, 1e-3, {bracket.upper, width}), false);
  return bracket;
}

}  // namespace

PldBracket SubsampledGaussianPld(double q, double z, std::int64_t steps, double delta, double width) {
  PldBracket bracket;
  if (!InRange(q, z, steps, delta)) {
    bracket.upper = kInfinity;
    bracket.reason = "bad-parameters";
    return bracket;
  }
  // Deltas at epsilon 0 add up.
  const auto count = static_cast<double>(steps);
  const double one = std::max(SubsampledDeltaRemove(q, z, 0), SubsampledDeltaAdd(q, z, 0));
  if (count * one * (1 + 1e-9) <= delta) return bracket;
  bracket = GridBracket(q, z, steps, delta, width);
  const bool coarse = bracket.upper - bracket.lower > 1e-2 * bracket.upper;
  if (std::isfinite(bracket.upper) && (std::isinf(width) || !coarse)) return bracket;
  const RdpEpsilon rdp = SubsampledGaussianEpsilon(q, z, count, delta);
  if (rdp.epsilon < bracket.upper) {
    bracket.upper = rdp.epsilon;
    bracket.rdp_order = rdp.order;
  }
  if (!std::isfinite(bracket.upper)) bracket.reason = reason::kNoFiniteOrder;
  return bracket;
}

}  // namespace retort::privacy
