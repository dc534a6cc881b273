#include "experiments/privacy/attack_bounds.h"

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

namespace retort::privacy {
namespace {

// P[Binomial(trials, p) >= least].
double AtLeast(std::int64_t trials, std::int64_t least, double p) {
  if (least <= 0) return 1;
  if (least > trials) return 0;
  return boost::math::ibeta(static_cast<double>(least), static_cast<double>(trials - least + 1), p);
}

double LowerLimit(std::int64_t hits, std::int64_t runs, double error) {
  if (hits == 0) return 0;
  return boost::math::ibeta_inv(static_cast<double>(hits), static_cast<double>(runs - hits + 1), error);
}

double UpperLimit(std::int64_t hits, std::int64_t runs, double error) {
  if (hits == runs) return 1;
  return boost::math::ibetac_inv(static_cast<double>(hits + 1), static_cast<double>(runs - hits), error);
}

bool InRange(const AttackCounts& counts) {
  return counts.runs > 0 && counts.true_positives >= 0 && counts.true_positives <= counts.runs &&
         counts.false_positives >= 0 && counts.false_positives <= counts.runs;
}

bool IsConfidence(double confidence) { return confidence > 0 && confidence < 1; }

double NormalQuantile(double probability) { return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * probability); }

bool InRange(const OneRunAudit& audit) {
  return audit.correct >= 0 && audit.correct <= audit.guesses && audit.guesses >= 1 && audit.guesses <= audit.canaries;
}

constexpr double kMinTail = 1e-30;

// The largest parameter that is refuted; whoever is larger than one that is not is not refuted, either. 0 when none.
double FindLargestRefuted(const std::function<bool(double)>& refuted) {
  if (!refuted(0)) return 0;
  double low = 0;
  double high = 1;
  while (high < 1000 && refuted(high)) {
    low = high;
    high *= 2;
  }
  for (int round = 0; round < 60 && high - low > 1e-12 * high; ++round) {
    const double middle = (low + high) / 2;
    (refuted(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

double AttackEpsilonLower(const AttackCounts& counts, double delta, double confidence) {
  if (!InRange(counts) || !IsConfidence(confidence) || !(delta >= 0 && delta < 1)) return 0;
  const double error = (1 - confidence) / 2;
  const double hit = LowerLimit(counts.true_positives, counts.runs, error) - delta;
  const double alarm = UpperLimit(counts.false_positives, counts.runs, error);
  return hit > alarm ? std::log(hit / alarm) : 0;
}

double AttackMuLower(const AttackCounts& counts, double confidence) {
  if (!InRange(counts) || !IsConfidence(confidence)) return 0;
  const double error = (1 - confidence) / 2;
  const double hit = LowerLimit(counts.true_positives, counts.runs, error);
  const double alarm = UpperLimit(counts.false_positives, counts.runs, error);
  if (hit <= 0 || alarm >= 1) return 0;
  return std::max(0.0, NormalQuantile(hit) - NormalQuantile(alarm));
}

RateLimits ComputeClopperPearsonLimits(std::int64_t hits, std::int64_t runs, double confidence) {
  if (runs < 1 || hits < 0 || hits > runs || !IsConfidence(confidence)) return {};
  const double error = (1 - confidence) / 2;
  return {LowerLimit(hits, runs, error), UpperLimit(hits, runs, error)};
}

double ComputeOneRunPValue(const OneRunAudit& audit, double epsilon, double delta) {
  if (!InRange(audit) || !(epsilon >= 0) || !(delta >= 0 && delta <= 1)) return 1;
  const double right = 1 / (1 + std::exp(-epsilon));
  const double beaten = AtLeast(audit.guesses, audit.correct, right);
  if (delta == 0) return beaten;
  double worst = 0;
  for (std::int64_t i = 1; i <= audit.correct; ++i) {
    const double between = AtLeast(audit.guesses, audit.correct - i, right) - beaten;
    worst = std::max(worst, between / static_cast<double>(i));
  }
  return std::min(1.0, beaten + 2 * static_cast<double>(audit.canaries) * delta * worst);
}

double ComputeOneRunEpsilonLower(const OneRunAudit& audit, double delta, double significance) {
  if (!InRange(audit) || !(significance > 0 && significance < 1)) return 0;
  const auto refuted = [&](double epsilon) { return ComputeOneRunPValue(audit, epsilon, delta) <= significance; };
  return FindLargestRefuted(refuted);
}

namespace {

// The least number of correct guesses that refutes epsilon = 0; nothing when none does.
std::optional<std::int64_t> FindEnough(const OneRunAudit& audit, double delta, double significance) {
  OneRunAudit run{audit.canaries, audit.guesses, audit.guesses};
  const auto refutes = [&](std::int64_t correct) {
    run.correct = correct;
    return ComputeOneRunPValue(run, 0, delta) <= significance;
  };
  const bool valid = InRange(run) && significance > 0 && significance < 1;
  if (!valid || !refutes(audit.guesses)) return std::nullopt;
  std::int64_t few = 0, enough = audit.guesses;
  while (enough - few > 1) {
    const std::int64_t middle = few + (enough - few) / 2;
    (refutes(middle) ? enough : few) = middle;
  }
  return enough;
}

}  // namespace

double ComputeOneRunDetectableEpsilon(const OneRunAudit& audit, double delta, double significance) {
  const std::optional<std::int64_t> least = FindEnough(audit, delta, significance);
  if (!least) return std::numeric_limits<double>::infinity();
  const std::int64_t enough = *least - (*least == audit.guesses ? 1 : 0);  // the rate of 1 has no finite epsilon
  const double rate = static_cast<double>(enough) / static_cast<double>(audit.guesses);
  return std::max(0.0, std::log(rate / (1 - rate)));
}

double ComputeOneRunNeededAccuracy(const OneRunAudit& audit, double delta, double significance, double power) {
  const std::optional<std::int64_t> enough = FindEnough(audit, delta, significance);
  if (!enough || !(power > 0 && power < 1)) return std::numeric_limits<double>::infinity();
  if (*enough == 0) return 0;
  return boost::math::ibeta_inv(static_cast<double>(*enough), static_cast<double>(audit.guesses - *enough + 1), power);
}

TradeOff MakeGaussianTradeOff(double mu) {
  return [mu](double p) {
    if (!(p > 0)) return 0.0;
    if (p >= 1) return 1.0;
    return std::erfc(mu / std::numbers::sqrt2 + boost::math::erfc_inv(2 * p)) / 2;
  };
}

TradeOff MakePairsTradeOff(std::vector<PrivacyPair> pairs) {
  return [pairs = std::move(pairs)](double p) {
    double least = 0;
    for (const PrivacyPair& pair : pairs)
      least = std::max(
          {least, (p - pair.delta) * std::exp(-pair.epsilon), 1 - pair.delta - std::exp(pair.epsilon) * (1 - p)});
    return std::clamp(least, 0.0, 1.0);
  };
}

namespace {

// Whether `correct` or more of the guesses cannot be right with a probability as large as `tail`.
//
// For i correct guesses let right(i) be the probability that a coin chosen at random is guessed right and at least i
// guesses are right, and wrong(i) that it is guessed wrong and at least i are right; together they are guesses /
// canaries times the probability of at least i right ones. Turning the chosen coin over makes a right guess a wrong one
// and i right ones i - 1. So the curve says wrong(i - 1) >= curve(right(i)). With `tail` at `correct` the least values
// of both follow for i = correct - 1, ..., 0; they must not exceed guesses / canaries in the end.
bool RefutesTail(const OneRunAudit& audit, const TradeOff& curve, double tail) {
  const auto guesses = static_cast<double>(audit.guesses);
  const double all = guesses / static_cast<double>(audit.canaries);
  double right = tail * all * static_cast<double>(audit.correct) / guesses;
  double wrong = tail * all * static_cast<double>(audit.guesses - audit.correct) / guesses;
  constexpr double kRounding = 1e-12;
  for (std::int64_t i = audit.correct - 1; i >= 0; --i) {
    const double next = std::max(wrong, curve(right));
    right += static_cast<double>(i) / static_cast<double>(audit.guesses - i) * (next - wrong);
    wrong = next;
    if (right + wrong > all * (1 + kRounding)) return true;
  }
  return false;
}

}  // namespace

double ComputeOneRunTradeOffPValue(const OneRunAudit& audit, const TradeOff& curve) {
  if (!InRange(audit) || audit.correct == 0 || !RefutesTail(audit, curve, 1)) return 1;
  double low = std::log(kMinTail), high = 0;  // high is refuted, low is not
  if (RefutesTail(audit, curve, kMinTail)) return kMinTail;
  for (int round = 0; round < 60 && high - low > 1e-13; ++round) {
    const double middle = (low + high) / 2;
    (RefutesTail(audit, curve, std::exp(middle)) ? high : low) = middle;
  }
  return std::exp(high);
}

double ComputeOneRunMuLower(const OneRunAudit& audit, double significance) {
  if (!InRange(audit) || !(significance > 0 && significance < 1)) return 0;
  const auto refuted = [&](double mu) { return RefutesTail(audit, MakeGaussianTradeOff(mu), significance); };
  return FindLargestRefuted(refuted);
}

double ComputeGdpTruePositiveRate(double mu, double false_positive_rate) {
  if (!(mu >= 0) || !(false_positive_rate > 0 && false_positive_rate < 1))
    return std::numeric_limits<double>::quiet_NaN();
  const double threshold = std::numbers::sqrt2 * boost::math::erfc_inv(2 * false_positive_rate);
  return std::erfc((threshold - mu) / std::numbers::sqrt2) / 2;
}

namespace {

std::int64_t Above(std::span<const double> scores, double threshold) {
  return std::count_if(scores.begin(), scores.end(), [threshold](double score) { return score > threshold; });
}

AttackCounts CountsAt(std::span<const double> in, std::span<const double> out, double threshold) {
  return {static_cast<std::int64_t>(in.size()), Above(in, threshold), Above(out, threshold)};
}

}  // namespace

double ScoreEpsilonLower(std::span<const double> in, std::span<const double> out, double delta, double confidence) {
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

ScoreCurve::ScoreCurve(std::vector<double> in, std::vector<double> out) : in_(std::move(in)), out_(std::move(out)) {
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
  return HitsWith(static_cast<std::size_t>(
      std::floor(std::clamp(false_positive_rate, 0.0, 1.0) * static_cast<double>(out_.size()))));
}

std::size_t ScoreCurve::HitsWith(std::size_t allowed) const {
  if (allowed >= out_.size()) return in_.size();
  const double threshold = out_[out_.size() - 1 - allowed];
  return static_cast<std::size_t>(in_.end() - std::upper_bound(in_.begin(), in_.end(), threshold));
}

std::vector<CurvePoint> ScoreCurve::Points() const {
  std::vector<CurvePoint> points;
  const auto all = static_cast<std::int64_t>(out_.size());
  std::int64_t last = -1;  // false positives of the last point
  for (std::int64_t allowed = 0; allowed <= all; ++allowed) {
    const bool kept = allowed <= kDenseFalsePositives || allowed == all || allowed >= last + std::max(last / 100, 1L);
    if (!kept) continue;
    last = allowed;
    const auto hits = HitsWith(static_cast<std::size_t>(allowed));
    points.push_back({allowed, static_cast<std::int64_t>(hits)});
  }
  return points;
}

}  // namespace retort::privacy
