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
#include "experiments/privacy/subsampled_delta.h"

namespace retort::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostSteps = 1'000'000'000'000;

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
  take(BracketOfSum(removal, steps, delta, 2.5e-5, {0, width}), true);
  // Adding an example loses at most -log(1 - q) in a step.
  if (-std::log1p(-q) * count > bracket.upper)
    take(BracketOfSum(addition, steps, delta, 2.5e-5, {bracket.upper, width}), false);
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

double SubsampledGaussianPldReplaced(double q, double z, std::int64_t steps, double delta) {
  constexpr double kLeastLog = -600, kRounding = 1e-12;
  constexpr int kRounds = 12;
  if (!InRange(q, z, steps, delta)) return kInfinity;
  const double target = std::log(delta) - kRounding;
  // What a split at log d has too much, in logarithms: it fits where this is at most 0.
  struct Split {
    double log_d = 0, epsilon = 0, excess = 0;
  };
  const auto at = [=](double log_d) {
    const PldBracket bracket = SubsampledGaussianPld(q, z, steps, std::exp(log_d), kInfinity);
    const double e = bracket.rdp_order > 0 ? kInfinity : bracket.upper;
    return Split{log_d, e, log_d + e + std::log1p(std::exp(-e)) - target};
  };
  Split low = at(target - std::log(2.0));
  if (low.excess <= 0) return 2 * low.epsilon;
  Split high = low;
  for (double step = low.excess; low.excess > 0; step = 1.5 * low.excess + 0.01) {
    if (!(step < low.log_d - kLeastLog)) return kInfinity;
    high = low;
    low = at(low.log_d - step);
  }
  // epsilon falls with d and is nearly linear in its logarithm, so the chord's guess is a good one, a little to the side
  // that fits.
  for (int round = 0; round < kRounds; ++round) {
    if (low.epsilon - high.epsilon <= 1e-4 + 5e-4 * low.epsilon) break;
    const double chord = low.excess / (low.excess - high.excess);
    const Split middle = at(low.log_d + std::clamp(0.98 * chord, 0.02, 0.98) * (high.log_d - low.log_d));
    (middle.excess <= 0 ? low : high) = middle;
    if (low.excess > -1e-3) break;
  }
  return 2 * low.epsilon;
}

}  // namespace retort::privacy
