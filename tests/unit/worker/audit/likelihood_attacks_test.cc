// Membership inference by likelihood ratios, on scores whose distributions are known.
#include "worker/audit/likelihood_attacks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "experiments/privacy/attack_bounds.h"

namespace retort::worker::audit {
namespace {

// Examples of different difficulty: a score is N(difficulty + effect if it was trained on, 1). The first half of the
// examples is the attacked network's.
class KnownScores {
 public:
  KnownScores(std::size_t examples, std::size_t shadow_count, double effect) : effect_(effect) {
    for (std::size_t i = 0; i < examples; ++i) difficulty_.push_back(3 * normal_(engine_));
    for (std::size_t i = 0; i < examples; ++i) scores.push_back(Draw(difficulty_[i], i < examples / 2));
    for (std::size_t i = 0; i < 200; ++i) population.push_back(Draw(Population(i), false));
    for (std::size_t shadow = 0; shadow < shadow_count; ++shadow) AddShadow(shadow);
  }

  [[nodiscard]] static double Area(const Scores& result) {
    const auto middle = result.begin() + static_cast<std::ptrdiff_t>(result.size() / 2);
    return privacy::ScoreCurve({result.begin(), middle}, {middle, result.end()}).Area();
  }

  Scores scores, population;
  ShadowScores shadows;

 private:
  double Draw(double difficulty, bool trained) { return difficulty + (trained ? effect_ : 0) + normal_(engine_); }
  static double Population(std::size_t i) { return 3 * std::sin(static_cast<double>(i)); }
  void AddShadow(std::size_t shadow) {
    std::vector<bool> trained(difficulty_.size());
    Scores pool, other;
    for (std::size_t i = 0; i < difficulty_.size(); ++i) {
      trained[i] = (i + shadow) % 2 == 0;
      pool.push_back(Draw(difficulty_[i], trained[i]));
    }
    for (std::size_t i = 0; i < population.size(); ++i) other.push_back(Draw(Population(i), false));
    shadows.pool.push_back(std::move(pool));
    shadows.trained.push_back(std::move(trained));
    shadows.population.push_back(std::move(other));
  }

  double effect_;
  std::mt19937_64 engine_{11};
  std::normal_distribution<double> normal_;
  std::vector<double> difficulty_;
};

TEST(LikelihoodAttacks, ShadowsTellWhatTheLossAloneDoesNot) {
  const KnownScores known(1000, 16, 1.5);
  const double threshold = KnownScores::Area(known.scores);
  const double offline = KnownScores::Area(ScoreOfflineLira(known.scores, known.shadows));
  const double lira = KnownScores::Area(ScoreLira(known.scores, known.shadows));
  const double rmia = KnownScores::Area(ScoreRmia(known.scores, known.population, known.shadows));
  EXPECT_LT(threshold, 0.7);
  EXPECT_GT(offline, threshold + 0.08);
  EXPECT_GT(lira, threshold + 0.08);
  EXPECT_GT(rmia, threshold + 0.08);
  EXPECT_LT(lira, std::erfc(-1.5 / 2) / 2 + 0.03);  // what the best test of this effect reaches
}

TEST(LikelihoodAttacks, FindNothingWhereNothingIs) {
  const KnownScores known(1000, 8, 0);
  EXPECT_NEAR(KnownScores::Area(ScoreOfflineLira(known.scores, known.shadows)), 0.5, 0.05);
  EXPECT_NEAR(KnownScores::Area(ScoreLira(known.scores, known.shadows)), 0.5, 0.05);
  EXPECT_NEAR(KnownScores::Area(ScoreRmia(known.scores, known.population, known.shadows)), 0.5, 0.05);
}

// log(4) apart: twice the probability and more.
TEST(LikelihoodAttacks, RmiaCountsThePopulationThatARatioBeats) {
  ShadowScores shadows;
  shadows.pool = {{0, 0}, {0, 0}};
  shadows.trained = {{true, false}, {false, true}};
  shadows.population = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  const double log_odds_of_quarter = std::log(1.0 / 3), log_odds_of_most = std::log(9.0);
  // Ratios over 1/2: 1.8 and 1 for the examples; 0.5 of one half of the population, 1 of the other.
  const Scores result = ScoreRmia({log_odds_of_most, 0}, {log_odds_of_quarter, 0, log_odds_of_quarter, 0}, shadows);
  EXPECT_GE(result[0], 0.5);
  EXPECT_LT(result[0], 0.75);
  EXPECT_GE(result[1], 0.5);
  EXPECT_GT(result[0], result[1]);  // of equal shares the larger ratio
}

TEST(LikelihoodAttacks, GiveNumbersForWhatIsNoneAndForFewShadows) {
  ShadowScores shadows;
  shadows.pool = {{std::numeric_limits<double>::lowest(), 1, 2}};
  shadows.trained = {{true, false, false}};
  shadows.population = {{std::numeric_limits<double>::quiet_NaN()}};
  const Scores scores = {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::quiet_NaN(), 1e300};
  for (const Scores& result :
       {ScoreOfflineLira(scores, shadows), ScoreLira(scores, shadows), ScoreRmia(scores, {1e300}, shadows)})
    for (const double value : result) EXPECT_TRUE(std::isfinite(value)) << value;
}

}  // namespace
}  // namespace retort::worker::audit
