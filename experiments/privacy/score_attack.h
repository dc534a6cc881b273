// What an attack that gives every input a score tells: larger scores for what it takes to be in.
#pragma once

#include <span>
#include <vector>

namespace retort::privacy {

// Scores of independent runs under two neighbouring inputs, as many under each. The threshold is chosen on
// the first half of both and judged on the second, so that no search inflates it. 0 where it says nothing.
[[nodiscard]] double ScoreEpsilonLower(std::span<const double> in, std::span<const double> out, double delta,
                                       double confidence);

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

 private:
  std::vector<double> in_, out_;  // ascending
};

}  // namespace retort::privacy
