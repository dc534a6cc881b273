// Lower bounds on epsilon from the results of attacks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace retort::privacy {

// Counts of one attack on two neighbouring inputs, `runs` runs each.
struct AttackCounts {
  std::int64_t runs = 0;             // > 0, per side
  std::int64_t true_positives = 0;   // in [0, runs]
  std::int64_t false_positives = 0;  // in [0, runs]
};

// log((TPR - delta) / FPR) with Clopper-Pearson limits of both rates, each one-sided at (1 - confidence) / 2,
// so that both hold at `confidence` in (0, 1). 0 where it says nothing; 0 out of range.
[[nodiscard]] double AttackEpsilonLower(const AttackCounts& counts, double delta, double confidence);

// The least mu of Gaussian differential privacy under which both rates are possible, with the same limits of
// both: Phi^-1(TPR) - Phi^-1(FPR). A mechanism that is mu-GDP gives more with probability 1 - confidence at
// most. 0 where it says nothing, or out of range.
[[nodiscard]] double AttackMuLower(const AttackCounts& counts, double confidence);

// Two-sided Clopper-Pearson limits of a rate of `hits` in `runs` at `confidence`. [0, 1] out of range.
struct RateLimits {
  double low = 0, high = 1;
};
[[nodiscard]] RateLimits ComputeClopperPearsonLimits(std::int64_t hits, std::int64_t runs, double confidence);

// One run with `canaries` examples, each in or out by a fair coin, and `guesses` of them guessed, a number
// fixed in advance.
struct OneRunAudit {
  std::int64_t canaries = 0;
  std::int64_t guesses = 0;  // <= canaries
  std::int64_t correct = 0;  // <= guesses
};

// The probability, at most, of this many correct guesses if the mechanism is (epsilon, delta)-DP
// [Steinke-Nasr-Jagielski 2023, theorem 5.2]. 1 out of range.
[[nodiscard]] double ComputeOneRunPValue(const OneRunAudit& audit, double epsilon, double delta);
// The largest epsilon that such a run refutes at significance in (0, 1); 0 when none.
[[nodiscard]] double ComputeOneRunEpsilonLower(const OneRunAudit& audit, double delta, double significance);
// The least epsilon that such a run can tell from 0: that of an attack which is right as often as epsilon
// allows, and so often that 0 is refuted. `audit.correct` does not matter. Infinity when no number of correct
// guesses is enough.
[[nodiscard]] double ComputeOneRunDetectableEpsilon(const OneRunAudit& audit, double delta, double significance);

// The least rate of right guesses with which such a run refutes epsilon = 0 with probability `power` in (0, 1): an
// attack that is right so often would have been found. `audit.correct` does not matter. Infinity when no number of
// correct guesses is enough.
[[nodiscard]] double ComputeOneRunNeededAccuracy(const OneRunAudit& audit, double delta, double significance,
                                                 double power);

// The same runs held against a whole trade-off curve, f-differential privacy, in place of one (epsilon, delta).

// A trade-off curve f, as the event that a guess is right needs it: an event of probability `p` under one of two
// neighbouring inputs has this probability at least under the other, the least x with 1 - f(x) >= p. Rising, at most p;
// f is convex and its own mirror image.
using TradeOff = std::function<double(double p)>;
// Of mu-GDP. mu in [0, inf).
[[nodiscard]] TradeOff MakeGaussianTradeOff(double mu);
// (epsilon, delta)-DP.
struct PrivacyPair {
  double epsilon = 0, delta = 0;
};
// Of a mechanism for which every one of `pairs` holds.
[[nodiscard]] TradeOff MakePairsTradeOff(std::vector<PrivacyPair> pairs);

// The probability, at most, of this many correct guesses or more if `curve` holds for a change of one coin
// [Mahloujifar, Melis and Chaudhuri 2025, "Auditing f-differential privacy in one run", algorithm 2]. 1 out of range.
// What is less than 1e-30 is 1e-30.
[[nodiscard]] double ComputeOneRunTradeOffPValue(const OneRunAudit& audit, const TradeOff& curve);
// The largest mu of Gaussian differential privacy that such a run refutes at significance in (0, 1); 0 when none. A
// mechanism with another trade-off curve may satisfy a smaller epsilon than this mu has.
[[nodiscard]] double ComputeOneRunMuLower(const OneRunAudit& audit, double significance);

// The largest true positive rate at a false positive rate in (0, 1) that mu-GDP allows. NaN out of range.
[[nodiscard]] double ComputeGdpTruePositiveRate(double mu, double false_positive_rate);

// Attacks that give every input a score: larger for inputs that they take to be in the training set.

// Scores of independent runs under two neighbouring inputs, as many under each. The threshold is chosen on
// the first half of both and judged on the second, so that no search inflates it. 0 where it says nothing.
[[nodiscard]] double ScoreEpsilonLower(std::span<const double> in, std::span<const double> out, double delta,
                                       double confidence);

// How many scores of either kind pass a threshold.
struct CurvePoint {
  std::int64_t false_positives = 0;  // of `out`
  std::int64_t true_positives = 0;   // of `in`
  bool operator==(const CurvePoint&) const = default;
};

// The receiver operating characteristic of scores that are all finite. Sizes at least 1.
class ScoreCurve {
 public:
  ScoreCurve(std::vector<double> in, std::vector<double> out);
  // The probability that one of `in` lies above one of `out`; ties count half.
  [[nodiscard]] double Area() const;
  // The largest mean of true positive and true negative rate over all thresholds, chosen on these very
  // scores.
  [[nodiscard]] double BestAccuracy() const;
  // Scores of `in` above the least threshold that at most rate * out.size() scores of `out` pass.
  [[nodiscard]] std::size_t HitsAt(double false_positive_rate) const;
  // The whole curve: a point for each number of false positives from 0 to all, with the scores of `in` that pass where
  // so many of `out` may. Every number up to kDenseFalsePositives; from there each point has about 1 % more false
  // positives than the one before.
  [[nodiscard]] std::vector<CurvePoint> Points() const;
  static constexpr std::int64_t kDenseFalsePositives = 200;

 private:
  [[nodiscard]] std::size_t HitsWith(std::size_t allowed) const;  // at most so many false positives
  std::vector<double> in_, out_;                                  // ascending
};

}  // namespace retort::privacy
