#include "experiments/privacy/accountants/vote_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "experiments/base/number_text.h"

namespace retort::privacy {
namespace {

// More than all rounding of one cost: relative, and of terms that cancel.
constexpr double kRelative = 1e-9, kAbsolute = 1e-12;

double RoundCostUp(double value) { return std::max(value, 0.0) * (1 + kRelative) + kAbsolute; }

// log P[N(0, 1) <= x]. Below -30 the asymptotic series, whose next term is below 2e-12.
double LogBelow(double x) {
  if (x >= -30) return std::log(std::erfc(-x / std::numbers::sqrt2) / 2);
  const double y = 1 / (x * x);
  return -x * x / 2 - std::log(-x * std::sqrt(2 * std::numbers::pi)) +
         std::log1p(-y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y))));
}

double AddLogs(double a, double b) {
  const double larger = std::max(a, b);
  if (std::isinf(larger)) return larger;
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

}  // namespace

double ComputeLogMiss(std::int64_t gap, std::int64_t classes, double noise) {
  if (!(noise > 0) || classes < 2 || gap < 1) return 0;
  const double deviations = static_cast<double>(gap - 1) / (noise * std::numbers::sqrt2);
  return std::min(0.0, std::log(static_cast<double>(classes - 1)) + LogBelow(-deviations) + kRelative);
}

double ComputeNoisyMaxRdp(double log_miss, double noise, double order) {
  if (!(noise > 0) || !std::isfinite(noise) || !(order > 1) || std::isnan(log_miss) || log_miss > 0) return kInfinity;
  const double variance = noise * noise, whatever = order / variance;
  if (std::isinf(log_miss)) return 0;
  const double second = noise * std::sqrt(-log_miss), first = second + 1;  // orders
  if (!(second > 1) || !(first > order)) return RoundCostUp(whatever);
  // What a neighbour answers otherwise, at most.
  const double log_other = (log_miss + second / variance) * (1 - 1 / second);
  if (!(log_other < 0)) return RoundCostUp(whatever);
  const double log_held = std::log1p(-std::exp(log_other));  // of the likely class, under the neighbour
  const double log_ratio = first / variance - log_miss / (first - 1);
  const double log_likely = std::log1p(-std::exp(log_miss));
  // Where the bound grows with the probability of a miss up to this one (PROOFS.md), the rest of it counts for what the
  // first class has; elsewhere that is taken for 1.
  const bool grows = log_miss <= (second - 1) * second / variance -
                                     second * (std::log(first / (first - 1)) + std::log(second / (second - 1))) &&
                     log_ratio >= log_likely - log_held;
  const double likely = (grows ? order * log_likely : 0) - (order - 1) * log_held;
  const double unlikely = log_miss + (order - 1) * log_ratio;
  return RoundCostUp(std::min(whatever, AddLogs(likely, unlikely) / (order - 1)));
}

Result<VoteCosts> VoteCosts::Create(const VoteCostRule& rule) {
  const bool counts = rule.members >= 2 && rule.members <= kMaxCostMembers && rule.classes >= 2;
  const auto good = [](double noise) { return noise > 0 && std::isfinite(noise); };
  if (!counts || !good(rule.threshold_noise) || !good(rule.vote_noise) || !(rule.order > 1) ||
      !std::isfinite(rule.order))
    return UsageError("The cost of votes needs 2 to 2000 members, noise, and an order above 1.");
  VoteCosts costs(rule);
  costs.costs_.resize(static_cast<std::size_t>(costs.side_ * costs.side_));
  std::vector<double> answers(static_cast<std::size_t>(costs.side_));
  double least = kInfinity;
  for (std::int64_t gap = 0; gap < costs.side_; ++gap) {
    // A bound for a smaller lead holds for a larger one.
    least = std::min(
        least, ComputeNoisyMaxRdp(ComputeLogMiss(gap, rule.classes, rule.vote_noise), rule.vote_noise, rule.order));
    answers[static_cast<std::size_t>(gap)] = least;
  }
  const auto place = [&](std::int64_t count) {
    return (static_cast<double>(count - rule.threshold) + 0.5) / rule.threshold_noise;
  };
  const double over = rule.order - 1;
  for (std::int64_t largest = 0; largest < costs.side_; ++largest) {
    const double passes = LogBelow(place(largest)), fails = LogBelow(-place(largest));
    // Convex in the neighbour's probability, so that the ends decide.
    const std::array others = {largest - 1, largest + 1};
    std::array<double, 2> through = {}, held = {};
    for (std::size_t i = 0; i < others.size(); ++i) {
      through[i] = rule.order * passes - over * LogBelow(place(others[i]));
      held[i] = rule.order * fails - over * LogBelow(-place(others[i]));
    }
    for (std::int64_t gap = 0; gap < costs.side_; ++gap) {
      const double answer = over * answers[static_cast<std::size_t>(gap)];
      const double worst = std::max(AddLogs(through[0] + answer, held[0]), AddLogs(through[1] + answer, held[1]));
      costs.costs_[costs.Place(largest, gap)] = RoundCostUp(worst / over);
    }
  }
  return costs;
}

double VoteCosts::Find(const Consensus& query) const {
  const bool known = query.gap >= 0 && query.gap <= query.largest && query.largest < side_;
  return known ? costs_[Place(query.largest, query.gap)] : kInfinity;
}

double VoteCosts::Sum(std::span<const Consensus> queries) const {
  double sum = 0;
  for (const Consensus& query : queries) sum += Find(query);
  return sum;
}

std::vector<double> VoteCosts::Spread(const std::vector<double>& table) const {
  std::vector<double> wide(table.size()), high(table.size());
  for (std::int64_t largest = 0; largest < side_; ++largest) {
    for (std::int64_t gap = 0; gap < side_; ++gap) {
      double most = 0;
      for (std::int64_t near = std::max<std::int64_t>(gap - 2, 0); near <= std::min(gap + 2, side_ - 1); ++near)
        most = std::max(most, table[Place(largest, near)]);
      wide[Place(largest, gap)] = most;
    }
  }
  for (std::int64_t largest = 0; largest < side_; ++largest) {
    for (std::int64_t gap = 0; gap < side_; ++gap) {
      double most = 0;
      for (std::int64_t near = std::max<std::int64_t>(largest - 1, 0); near <= std::min(largest + 1, side_ - 1); ++near)
        most = std::max(most, wide[Place(near, gap)]);
      high[Place(largest, gap)] = most;
    }
  }
  return high;
}

double VoteCosts::SmoothSensitivity(std::span<const Consensus> queries, double smoothness, double floor) const {
  if (!(smoothness > 0) || !(floor > 0)) return kInfinity;
  for (const Consensus& query : queries)
    if (!std::isfinite(Find(query))) return kInfinity;
  // What a step from here changes, up or down: at most the table's spread in its neighbourhood.
  std::vector<double> negative(costs_.size()), change(costs_.size());
  const double top = *std::max_element(costs_.begin(), costs_.end());
  for (std::size_t i = 0; i < costs_.size(); ++i) negative[i] = top - costs_[i];
  const std::vector<double> above = Spread(costs_), below = Spread(negative);
  double largest = 0;
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    change[i] = std::max(above[i] - costs_[i], costs_[i] - (top - below[i])) + kAbsolute;
    largest = std::max(largest, change[i]);
  }
  double smooth = floor;
  for (std::int64_t distance = 0; distance <= rule_.members; ++distance) {
    const double shrunk = std::exp(-smoothness * static_cast<double>(distance));
    if (shrunk * largest * static_cast<double>(queries.size()) <= smooth) break;
    double sum = 0;
    for (const Consensus& query : queries) sum += change[Place(query.largest, query.gap)];
    smooth = std::max(smooth, shrunk * sum * (1 + kRelative));
    change = Spread(change);
  }
  return smooth;
}

double SmoothGaussianRdp(double order, double smoothness, double noise, double moved) {
  if (!(order > 1) || !(smoothness >= 0) || !(noise > 0) || !(moved >= 0) || !std::isfinite(noise)) return kInfinity;
  const double most = std::exp(2 * smoothness), mixed = order - (order - 1) * most;
  if (!(mixed > 0)) return kInfinity;
  // Of two deviations whose squares are as r to 1. Convex, and least at r = 1.
  const auto scales = [order](double r) {
    return -std::log(r) / 2 - std::log(order - (order - 1) * r) / (2 * (order - 1));
  };
  const double shift = order * moved * moved / (2 * noise * noise * mixed);
  return RoundCostUp(shift + std::max(scales(most), scales(1 / most)));
}

}  // namespace retort::privacy
