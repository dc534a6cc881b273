#include "experiments/privacy/loss_bracket.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "experiments/privacy/loss_composition.h"

namespace retort::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kFewestPoints = std::size_t{1} << 12;
constexpr std::size_t kMostPoints = std::size_t{1} << 20;

// log of the tilted moment of one step, its mean and its variance, from sampled points.
struct Moments {
  double log = 0, mean = 0, variance = 0;
};

Moments MomentsAt(const std::vector<double>& loss, const std::vector<double>& mass, double tilt) {
  double most = -kInfinity;
  std::vector<double> logs(loss.size());
  for (std::size_t i = 0; i < loss.size(); ++i) {
    logs[i] = std::log(mass[i]) + tilt * loss[i];
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
  return {most + std::log(sum), mean, std::max(second / sum - mean * mean, 0.0)};
}

// The tilt, scale and extent, estimated.
struct Outlook {
  double tilt = 1, deviation = 1, epsilon = 0;
  double low = 0, extent = 0;  // window of the tilted sum
  double rise = 1, fall = 1;   // exponents of its tail bounds
};

// `near`: counts that only 1 - e^(epsilon - S) of a mass at S > epsilon is delta's, at most tilt^tilt /
// (1 + tilt)^(1 + tilt) of e^(tilt * (S - epsilon)). Where a largest loss has a mass of its own, the crossing
// lies far below what is best without.
Outlook OutlookOf(const ReleaseLoss& release, double steps, double delta, bool near) {
  const auto moments = [&](double tilt) { return MomentsAt(release.loss, release.mass, tilt); };
  // Chernoff: delta(epsilon) <= e^{steps * log moment - tilt * epsilon}, best where the mean is epsilon.
  const auto bound = [&](double log_tilt) {
    const double tilt = std::exp(log_tilt);
    const double factor = near ? tilt * log_tilt - (1 + tilt) * std::log1p(tilt) : 0;
    return (steps * moments(tilt).log + factor - std::log(delta)) / tilt;
  };
  constexpr double kGolden = 0.6180339887498949;
  double from = std::log(1e-4);
  // Losses that are all small take larger tilts.
  constexpr double kMostTilt = 1e8;
  const double spread = std::min(std::sqrt(moments(0).variance), 1.0);
  double to = std::log(release.most_tilt.value_or(kMostTilt / spread));
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

// Refines until the bracket is narrow or the transform as large as it may be. False where finer grids only
// bring more rounding, since delta is crossed where the tilt leaves next to nothing.
bool Refine(const ReleaseLoss& release, std::int64_t steps, double delta, double precision,
            const EnoughOf& enough, const Outlook& outlook, LossBracket& best) {
  // Spreading a loss inside an interval of width h adds about h^2/6 to its variance, and so about
  // (1 + tilt) * steps * h^2 / 12 to epsilon.
  const double fine = std::sqrt(12 * precision * std::max(outlook.epsilon, 1e-3) /
                                ((1 + outlook.tilt) * static_cast<double>(steps)));
  const double wanted = std::clamp(1.02 * outlook.extent / fine, static_cast<double>(kFewestPoints),
                                   static_cast<double>(kMostPoints));
  const std::size_t first = std::bit_ceil(static_cast<std::size_t>(wanted));
  // Losses are counted in spacings.
  constexpr double kMostIndex = 0x1p52;
  double largest = 0;
  for (const double loss : release.loss) largest = std::max(largest, std::abs(loss));
  const double finest = 1.02 * outlook.extent / static_cast<double>(kMostPoints);
  if (!(2 * std::max(largest, std::abs(outlook.low)) < kMostIndex * finest)) return true;
  for (std::size_t points = first; points <= kMostPoints; points *= 2) {
    const double spacing = 1.02 * outlook.extent / static_cast<double>(points);
    LossWindow window;
    window.tilt = outlook.tilt;
    window.rise = outlook.rise;
    window.fall = outlook.fall;
    window.first = static_cast<std::int64_t>(std::floor((outlook.low - 0.01 * outlook.extent) / spacing));
    window.points = points;
    const FourierPlan plan(points);
    const LossBounds bounds = BoundsOfSum(release.grid(spacing), spacing, steps, delta, window, plan);
    best.spacing = spacing;
    best.points = static_cast<std::int64_t>(points);
    best.upper = std::min(best.upper, bounds.upper);
    best.lower = std::max(best.lower, bounds.lower);
    if (std::isinf(best.upper)) {
      if (points >= 4 * first) return true;
      continue;
    }
    if (best.upper <= enough.upper) return true;
    if (best.upper - best.lower <= enough.width * best.upper + 1e-6) return true;
    if (bounds.lower <= 0 && bounds.upper > best.upper) return false;
  }
  return true;
}

}  // namespace

LossBracket BracketOfSum(const ReleaseLoss& release, std::int64_t steps, double delta, double precision,
                         const EnoughOf& enough) {
  LossBracket best;
  for (const bool near : {false, true}) {
    const Outlook outlook = OutlookOf(release, static_cast<double>(steps), delta, near);
    if (!std::isfinite(outlook.low) || !std::isfinite(outlook.extent) || !(outlook.deviation > 0)) continue;
    if (Refine(release, steps, delta, precision, enough, outlook, best)) break;
  }
  return best;
}

}  // namespace retort::privacy
