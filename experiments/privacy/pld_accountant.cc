#include "experiments/privacy/pld_accountant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "experiments/privacy/loss_bracket.h"
#include "experiments/privacy/loss_grid.h"
#include "experiments/privacy/rdp_accountant.h"
#include "experiments/privacy/reasons.h"
#include "experiments/privacy/replaced_loss.h"
#include "experiments/privacy/subsampled_delta.h"

namespace retort::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostSteps = 1'000'000'000'000;
constexpr double kGridPrecision = 2.5e-5;  // of epsilon, relative

bool InRange(double q, double z, std::int64_t steps, double delta) {
  return q > 0 && q <= 1 && z > 0 && std::isfinite(z) && steps >= 1 && delta > 0 && delta < 1;
}

// What a step may give away of a delta that is for all of them.
double TailOf(double delta, double steps) { return std::max(1e-7 * delta / steps, 1e-300); }

// Deltas at epsilon 0 add up. That of one may have been rounded down to the next of the least doubles.
bool NothingToSee(double count, double delta_of_one, double delta) {
  return count * std::nextafter(delta_of_one, 1.0) * (1 + 1e-9) <= delta;
}

// Of the grid alone.
PldBracket GridBracket(double q, double z, std::int64_t steps, double delta, double width) {
  PldBracket bracket;
  bracket.upper = kInfinity;
  if (steps > kMostSteps || z < kLeastMultiplier) return bracket;
  const auto count = static_cast<double>(steps);
  const SubsampledStep step{q, z, TailOf(delta, count)};
  const LossSample sample = SampleOf(step);
  std::vector<double> negative = sample.loss;
  for (double& loss : negative) loss = -loss;
  const ReleaseLoss removal{sample.loss, sample.remove, [&](double h) { return GridOf(step, h).remove; }};
  const ReleaseLoss addition{std::move(negative), sample.add, [&](double h) { return GridOf(step, h).add; }};
  const auto take = [&bracket](const LossBracket& measured, bool remove) {
    bracket.lower = std::max(bracket.lower, measured.lower);
    if (!remove && measured.upper <= bracket.upper) return;
    bracket.upper = measured.upper;
    bracket.removal_binds = remove;
    bracket.spacing = measured.spacing;
    bracket.points = measured.points;
  };
  take(BracketOfSum(removal, steps, delta, kGridPrecision, {0, width}), true);
  // Adding an example loses at most -log(1 - q) in a step.
  if (-std::log1p(-q) * count > bracket.upper)
    take(BracketOfSum(addition, steps, delta, kGridPrecision, {bracket.upper, width}), false);
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
  const auto count = static_cast<double>(steps);
  const double one = std::max(SubsampledDeltaRemove(q, z, 0), SubsampledDeltaAdd(q, z, 0));
  if (NothingToSee(count, one, delta)) return bracket;
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

PldBracket SubsampledGaussianPldReplaced(double q, double z, std::int64_t steps, double delta, double width) {
  PldBracket bracket;
  bracket.upper = kInfinity;
  bracket.reason = "bad-parameters";
  if (!InRange(q, z, steps, delta)) return bracket;
  bracket.reason = reason::kNoBound;
  const auto count = static_cast<double>(steps);
  if (NothingToSee(count, ReplacedDeltaAtZero(q, z), delta)) return {};
  if (steps > kMostSteps || z < kLeastMultiplier) return bracket;
  const LossBracket measured =
      BracketOfSum(ReplacedLoss({q, z, TailOf(delta, count)}), steps, delta, kGridPrecision, {0, width});
  bracket.lower = measured.lower;
  bracket.upper = measured.upper;
  bracket.spacing = measured.spacing;
  bracket.points = measured.points;
  if (std::isfinite(bracket.upper)) bracket.reason.clear();
  return bracket;
}

}  // namespace retort::privacy
