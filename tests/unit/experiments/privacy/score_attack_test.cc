// Attacks by score, and the limits of what they can show.
#include "experiments/privacy/attack_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "experiments/privacy/accountants/exact_gdp.h"

namespace retort::privacy {
namespace {

std::vector<double> Normals(std::size_t n, double mean, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(mean, 1);
  std::vector<double> values(n);
  for (double& value : values) value = normal(engine);
  return values;
}

TEST(ScoreEpsilon, OfGaussiansStaysBelowTheTruthAndComesNear) {
  const double mu = 2, truth = GaussianEpsilon(1e-5, mu);
  const double lower = ScoreEpsilonLower(Normals(200'000, mu, 1), Normals(200'000, 0, 2), 1e-5, 0.95);
  EXPECT_LE(lower, truth);
  EXPECT_GT(lower, 0.4 * truth);
}

TEST(ScoreEpsilon, OfEqualDistributionsIsZero) {
  EXPECT_EQ(ScoreEpsilonLower(Normals(2000, 0, 1), Normals(2000, 0, 2), 1e-5, 0.95), 0);
  EXPECT_EQ(ScoreEpsilonLower(std::vector<double>{1, 2}, std::vector<double>{1}, 1e-5, 0.95), 0);
}

// A search over thresholds on the same scores would find something in noise.
TEST(ScoreEpsilon, ThresholdIsJudgedOnScoresThatItWasNotChosenOn) {
  int found = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    found += ScoreEpsilonLower(Normals(400, 0, 2 * seed), Normals(400, 0, 2 * seed + 1), 1e-5, 0.95) > 0 ? 1 : 0;
  EXPECT_LE(found, 10);
}

TEST(ScoreCurve, KnowsAreaAccuracyAndHits) {
  const ScoreCurve curve({1, 2, 3, 4}, {0, 1, 2, 2.5});
  EXPECT_DOUBLE_EQ(curve.Area(), (1.5 + 2.5 + 4 + 4) / 16);
  EXPECT_DOUBLE_EQ(curve.BestAccuracy(), 0.75);
  EXPECT_EQ(curve.HitsAt(0), 2U);
  EXPECT_EQ(curve.HitsAt(0.25), 2U);
  EXPECT_EQ(curve.HitsAt(0.5), 3U);
  EXPECT_EQ(curve.HitsAt(1), 4U);
  EXPECT_DOUBLE_EQ(ScoreCurve({1, 1}, {1, 1}).Area(), 0.5);
}

TEST(AttackMu, OfExactRatesApproachesMu) {
  const double mu = 1.5;
  const auto rate = [](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; };
  const std::int64_t runs = 100'000'000;
  const AttackCounts counts{runs, std::llround(rate(mu / 2) * runs), std::llround(rate(-mu / 2) * runs)};
  const double lower = AttackMuLower(counts, 1 - 1e-6);
  EXPECT_LT(lower, mu);
  EXPECT_GT(lower, 0.998 * mu);
  EXPECT_EQ(AttackMuLower({100, 50, 50}, 0.95), 0);
  EXPECT_EQ(AttackMuLower({100, 101, 50}, 0.95), 0);
  EXPECT_EQ(AttackMuLower({100, 90, 10}, 1), 0);
}

TEST(ClopperPearson, MatchesPublishedLimits) {
  const RateLimits limits = ClopperPearsonLimits(10, 100, 0.95);  // 0.0490 to 0.1762 (Clopper and Pearson 1934)
  EXPECT_NEAR(limits.low, 0.0490, 5e-5);
  EXPECT_NEAR(limits.high, 0.1762, 5e-5);
  EXPECT_EQ(ClopperPearsonLimits(0, 10, 0.95).low, 0);
  EXPECT_EQ(ClopperPearsonLimits(11, 10, 0.95).high, 1);
}

TEST(OneRunPower, IsTheEpsilonWhoseUsualGuessesRefuteZero) {
  const OneRunAudit audit{1000, 100, 0};
  const double epsilon = OneRunDetectableEpsilon(audit, 1e-5, 0.05);
  const auto correct = static_cast<std::int64_t>(std::ceil(100 / (1 + std::exp(-epsilon)) - 1e-9));
  EXPECT_GT(OneRunEpsilonLower({1000, 100, correct}, 1e-5, 0.05), 0);
  EXPECT_EQ(OneRunEpsilonLower({1000, 100, correct - 1}, 1e-5, 0.05), 0);
  EXPECT_TRUE(std::isinf(OneRunDetectableEpsilon({4, 2, 0}, 1e-5, 0.05)));
}

}  // namespace
}  // namespace retort::privacy
