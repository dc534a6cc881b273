#include "experiments/privacy/score_attack.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "experiments/privacy/audit_bounds.h"

namespace retort::privacy {
namespace {

std::int64_t Above(std::span<const double> scores, double threshold) {
  return std::count_if(scores.begin(), scores.end(), [threshold](double score) { return score > threshold; });
}

AttackCounts CountsAt(std::span<const double> in, std::span<const double> out, double threshold) {
  return {static_cast<std::int64_t>(in.size()), Above(in, threshold), Above(out, threshold)};
}

}  // namespace

double ScoreEpsilonLower(std::span<const double> in, std::span<const double> out, double delta,
                         double confidence) {
  if (in.size() != out.size() || in.size() < 2) return 0;
  const std::size_t half = in.size() / 2;
  std::vector<double> thresholds(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(half));
  std::sort(thresholds.begin(), thresholds.end(), std::greater<>());
  double best = -1, threshold = 0;
  // False positive rates are told apart by their logarithm.
  for (std::size_t rank = 0; rank < half; rank += 1 + rank / 8) {
    const AttackCounts counts = CountsAt(in.first(half), out.first(half), thresholds[rank]);
    const double lower = AttackEpsilonLower(counts, delta, confidence);
    if (lower > best) {
      best = lower;
      threshold = thresholds[rank];
    }
  }
  return AttackEpsilonLower(CountsAt(in.last(half), out.last(half), threshold), delta, confidence);
}

ScoreCurve::ScoreCurve(std::vector<double> in, std::vector<double> out)
    : in_(std::move(in)), out_(std::move(out)) {
  std::sort(in_.begin(), in_.end());
  std::sort(out_.begin(), out_.end());
}

double ScoreCurve::Area() const {
  double wins = 0;
  for (const double score : in_) {
    const auto [below, above] = std::equal_range(out_.begin(), out_.end(), score);
    wins += static_cast<double>(below - out_.begin()) + static_cast<double>(above - below) / 2;
  }
  return wins / (static_cast<double>(in_.size()) * static_cast<double>(out_.size()));
}

double ScoreCurve::BestAccuracy() const {
  double best = 0.5;
  for (const double threshold : in_) {
    const auto hits = in_.end() - std::lower_bound(in_.begin(), in_.end(), threshold);
    const auto passed = std::lower_bound(out_.begin(), out_.end(), threshold) - out_.begin();
    best = std::max(best, (static_cast<double>(hits) / static_cast<double>(in_.size()) +
                           static_cast<double>(passed) / static_cast<double>(out_.size())) /
                              2);
  }
  return best;
}

std::size_t ScoreCurve::HitsAt(double false_positive_rate) const {
  const auto allowed = static_cast<std::size_t>(
      std::floor(std::clamp(false_positive_rate, 0.0, 1.0) * static_cast<double>(out_.size())));
  if (allowed >= out_.size()) return in_.size();
  const double threshold = out_[out_.size() - 1 - allowed];
  return static_cast<std::size_t>(in_.end() - std::upper_bound(in_.begin(), in_.end(), threshold));
}

}  // namespace retort::privacy
