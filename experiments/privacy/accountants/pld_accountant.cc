#include "experiments/privacy/accountants/pld_accountant.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/loss_composition.h"
#include "experiments/privacy/accountants/loss_grid.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/subsampled_loss.h"

namespace retort::privacy {
namespace {

constexpr std::int64_t kMaxSteps = 1'000'000'000'000;
constexpr double kGridPrecision = 2.5e-5;  // of epsilon, relative

bool InRange(double q, double z, std::int64_t steps, double delta) {
  return q > 0 && q <= 1 && z > 0 && std::isfinite(z) && steps >= 1 && delta > 0 && delta < 1;
}

// Returns what one step may give away of the delta of all steps.
double ComputeTail(double delta, double steps) { return std::max(1e-7 * delta / steps, 1e-300); }

// Deltas at epsilon 0 add up. That of one may have been rounded down to the next of the least doubles.
bool IsBelowDelta(double count, double delta_of_one, double delta) {
  return count * std::nextafter(delta_of_one, 1.0) * (1 + 1e-9) <= delta;
}

// The bracket of the grid, without that of RDP.
PldBracket GridBracket(double q, double z, std::int64_t steps, double delta, double width) {
  PldBracket bracket;
  bracket.upper = kInfinity;
  if (steps > kMaxSteps || z < kMinMultiplier) return bracket;
  const auto count = static_cast<double>(steps);
  const SubsampledStep step{q, z, ComputeTail(delta, count)};
  const LossSample sample = MakeSample(step);
  std::vector<double> negative = sample.loss;
  for (double& loss : negative) loss = -loss;
  const ReleaseLoss removal{sample.loss, sample.remove, [&](double h) { return MakeGrid(step, h).remove; }};
  const ReleaseLoss addition{std::move(negative), sample.add, [&](double h) { return MakeGrid(step, h).add; }};
  const auto take = [&bracket](const LossBracket& measured, bool remove) {
    bracket.lower = std::max(bracket.lower, measured.lower);
    if (!remove && measured.upper <= bracket.upper) return;
    bracket.upper = measured.upper;
    bracket.removal_binds = remove;
    bracket.spacing = measured.spacing;
    bracket.points = measured.points;
  };
  take(BracketSum(removal, steps, delta, kGridPrecision, {0, width}), true);
  // Adding an example loses at most -log(1 - q) in a step.
  if (-std::log1p(-q) * count > bracket.upper)
    take(BracketSum(addition, steps, delta, kGridPrecision, {bracket.upper, width}), false);
  return bracket;
}

}  // namespace

PldBracket ComputeSubsampledGaussianPld(double q, double z, std::int64_t steps, double delta, double width) {
  PldBracket bracket;
  if (!InRange(q, z, steps, delta)) {
    bracket.upper = kInfinity;
    bracket.reason = "bad-parameters";
    return bracket;
  }
  const auto count = static_cast<double>(steps);
  // A step differs with probability q at most, whatever its noise.
  const double one = std::min(q, std::max(ComputeSubsampledDeltaRemove(q, z, 0), ComputeSubsampledDeltaAdd(q, z, 0)));
  if (IsBelowDelta(count, one, delta)) return bracket;
  bracket = GridBracket(q, z, steps, delta, width);
  const bool coarse = bracket.upper - bracket.lower > 1e-2 * bracket.upper;
  if (std::isfinite(bracket.upper) && (std::isinf(width) || !coarse)) return bracket;
  const RdpEpsilon rdp = ComputeSubsampledGaussianEpsilon(q, z, count, delta);
  if (rdp.epsilon < bracket.upper) {
    bracket.upper = rdp.epsilon;
    bracket.rdp_order = rdp.order;
  }
  if (!std::isfinite(bracket.upper)) bracket.reason = reason::kNoFiniteOrder;
  return bracket;
}

PldBracket ComputeSubsampledGaussianPldReplaced(double q, double z, std::int64_t steps, double delta, double width) {
  PldBracket bracket;
  bracket.upper = kInfinity;
  bracket.reason = "bad-parameters";
  if (!InRange(q, z, steps, delta)) return bracket;
  bracket.reason = reason::kNoBound;
  const auto count = static_cast<double>(steps);
  if (IsBelowDelta(count, std::min(q, ComputeReplacedDeltaAtZero(q, z)), delta)) return {};
  if (steps > kMaxSteps || z < kMinMultiplier) return bracket;
  const LossBracket measured =
      BracketSum(MakeReplacedLoss({q, z, ComputeTail(delta, count)}), steps, delta, kGridPrecision, {0, width});
  bracket.lower = measured.lower;
  bracket.upper = measured.upper;
  bracket.spacing = measured.spacing;
  bracket.points = measured.points;
  if (std::isfinite(bracket.upper)) bracket.reason.clear();
  return bracket;
}

namespace {

// One end of a bracket: the parameter's logarithm and by how much, in logarithms, epsilon is missed there.
struct End {
  double at = 0, excess = 0;
};

// Narrows [meets, exceeds], where the excess is <= 0 and > 0, until they are `width` apart. The excess is
// nearly linear in these logarithms, so the chord is a good guess; it is kept off the ends.
End Narrowed(End meets, End exceeds, double width, const std::function<double(double)>& excess) {
  for (int round = 0; round < 60 && std::abs(exceeds.at - meets.at) > width; ++round) {
    if (meets.excess > -width) break;  // epsilon is met as closely as the bounds are tight
    const bool chord = std::isfinite(exceeds.excess) && std::isfinite(meets.excess);
    double share = chord ? meets.excess / (meets.excess - exceeds.excess) : 0.5;
    share = std::clamp(share, round % 3 == 2 ? 0.5 : 0.02, 0.98);
    // A little to the side that meets, so that the chord's guess mostly does.
    const double gap = exceeds.at - meets.at;
    const double guess = meets.at + share * gap - std::copysign(std::min(width / 2, std::abs(gap) / 50), gap);
    const End middle{guess, excess(guess)};
    (middle.excess <= 0 ? meets : exceeds) = middle;
  }
  return meets;
}

bool InRange(double q, double delta, double epsilon) {
  return q > 0 && q <= 1 && delta > 0 && delta < 1 && epsilon > 0 && std::isfinite(epsilon);
}

}  // namespace

double ComputeSubsampledGaussianPldNoise(double q, std::int64_t steps, double delta, double epsilon) {
  if (!InRange(q, delta, epsilon) || steps < 1) return std::numeric_limits<double>::quiet_NaN();
  const auto excess = [=](double log_z) {
    return std::log(ComputeSubsampledGaussianPld(q, std::exp(log_z), steps, delta, kInfinity).upper / epsilon);
  };
  constexpr double kLeast = -12;  // the logarithm of the least noise that is looked at
  if (IsBelowDelta(static_cast<double>(steps), q, delta)) return std::exp(kLeast);
  // What the looser accountant asks for is enough, and there is less to search below it.
  const double rdp = ComputeSubsampledGaussianNoise(q, static_cast<double>(steps), delta, epsilon);
  if (!std::isfinite(rdp)) return rdp;
  End meets{std::log(rdp), 0};
  meets.excess = excess(meets.at);
  if (meets.excess > 0) return rdp;
  End exceeds = meets;
  for (double step = 0.1; exceeds.excess <= 0; step *= 2) {
    meets = exceeds;
    if (meets.at < kLeast) return std::exp(meets.at);
    exceeds.at = meets.at - step;
    exceeds.excess = excess(exceeds.at);
  }
  return std::exp(Narrowed(meets, exceeds, 5e-6, excess).at);
}

std::int64_t ComputeSubsampledGaussianPldSteps(double q, double z, double delta, double epsilon) {
  if (!InRange(q, delta, epsilon) || !(z > 0) || std::isinf(z)) return -1;
  const auto whole = [](double log_steps) { return static_cast<std::int64_t>(std::exp(log_steps) + 1e-9); };
  const auto excess = [=](double log_steps) {
    return std::log(
        ComputeSubsampledGaussianPld(q, z, std::max<std::int64_t>(whole(log_steps), 1), delta, kInfinity).upper /
        epsilon);
  };
  End meets{0, excess(0)};
  if (meets.excess > 0) return 0;
  End exceeds = meets;
  for (double step = std::log(4.0); exceeds.excess <= 0; step *= 1.5) {
    meets = exceeds;
    if (meets.at >= std::log(static_cast<double>(kMaxSteps))) return -1;
    exceeds.at = std::min(meets.at + step, std::log(static_cast<double>(kMaxSteps)));
    exceeds.excess = excess(exceeds.at);
  }
  std::int64_t low = whole(meets.at);
  std::int64_t high = whole(exceeds.at);
  const End end = Narrowed(meets, exceeds, 5e-6, [&](double at) {
    const double value = excess(at);
    (value <= 0 ? low : high) = whole(at);
    return value;
  });
  low = std::max(low, whole(end.at));
  // Few steps: every whole number counts.
  while (low < 100'000 && high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (excess(std::log(static_cast<double>(middle))) <= 0 ? low : high) = middle;
  }
  return low;
}

}  // namespace retort::privacy
