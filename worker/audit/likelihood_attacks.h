// Membership inference by likelihood ratios: what shadows, trained on some of the attacked examples and not on others,
// say about a score.
#pragma once

#include <cstddef>
#include <vector>

namespace retort::worker::audit {

// log(p / (1 - p)) of examples' own labels.
using Scores = std::vector<double>;

// The scores of the same examples under each shadow, which was trained on those that `trained` marks.
struct ShadowScores {
  std::vector<Scores> pool;                // [shadow][attacked example]
  std::vector<std::vector<bool>> trained;  // [shadow][attacked example]
  std::vector<Scores> population;          // [shadow][example of the population], none of which any shadow learnt
  [[nodiscard]] std::size_t shadows() const { return pool.size(); }
};

// Each returns a number for every attacked example, finite, larger for those that it takes to be private, from `scores`
// under the attacked network. At least one shadow.

// Offline LiRA (Carlini et al. 2022, algorithm 1 without its "in" side): how far a score lies above those of shadows
// that were not trained on the example, in pooled standard deviations.
[[nodiscard]] Scores ScoreOfflineLira(const Scores& scores, const ShadowScores& shadows);

// LiRA: the logarithm of the likelihood of the score under a normal distribution of the scores of shadows that were
// trained on the example, over that of the others. Means are the example's own, deviations pooled over all examples.
[[nodiscard]] Scores ScoreLira(const Scores& scores, const ShadowScores& shadows);

// RMIA (Zarifzadeh, Liu and Shokri 2024): the share of the population whose likelihood ratio is at most 1 / gamma times
// the example's. An example's ratio is its probability under the attacked network over its mean probability under
// shadows, trained on it or not, each side counting half. Of equal shares the larger ratio is the larger number.
inline constexpr double kRmiaGamma = 2;
[[nodiscard]] Scores ScoreRmia(const Scores& scores, const Scores& population, const ShadowScores& shadows);

}  // namespace retort::worker::audit
