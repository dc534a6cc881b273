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
  const double mu = 2, truth = ComputeGaussianEpsilon(1e-5, mu);
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

TEST(ScoreCurve, PointsAreWhatHitsAtSays) {
  const ScoreCurve curve({1, 2, 3, 4}, {0, 1, 2, 2.5});
  const std::vector<CurvePoint> points = curve.Points();
  ASSERT_EQ(points.size(), 5U);
  for (const CurvePoint& point : points)
    EXPECT_EQ(static_cast<std::size_t>(point.true_positives),
              curve.HitsAt(static_cast<double>(point.false_positives) / 4));
  EXPECT_EQ(points.front(), (CurvePoint{0, 2}));
  EXPECT_EQ(points.back(), (CurvePoint{4, 4}));
}

// Of many scores every small number of false positives is there, and not many more points than that.
TEST(ScoreCurve, PointsOfManyScoresAreDenseWhereFewPass) {
  const std::vector<CurvePoint> points = ScoreCurve(Normals(60'000, 1, 1), Normals(60'000, 0, 2)).Points();
  for (std::int64_t i = 0; i <= ScoreCurve::kDenseFalsePositives; ++i)
    EXPECT_EQ(points[static_cast<std::size_t>(i)].false_positives, i);
  EXPECT_EQ(points.back(), (CurvePoint{60'000, 60'000}));
  EXPECT_LT(points.size(), 1200U);
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
  const RateLimits limits = ComputeClopperPearsonLimits(10, 100, 0.95);  // 0.0490 to 0.1762 (Clopper and Pearson 1934)
  EXPECT_NEAR(limits.low, 0.0490, 5e-5);
  EXPECT_NEAR(limits.high, 0.1762, 5e-5);
  EXPECT_EQ(ComputeClopperPearsonLimits(0, 10, 0.95).low, 0);
  EXPECT_EQ(ComputeClopperPearsonLimits(11, 10, 0.95).high, 1);
}

TEST(OneRunPower, IsTheEpsilonWhoseUsualGuessesRefuteZero) {
  const OneRunAudit audit{1000, 100, 0};
  const double epsilon = ComputeOneRunDetectableEpsilon(audit, 1e-5, 0.05);
  const auto correct = static_cast<std::int64_t>(std::ceil(100 / (1 + std::exp(-epsilon)) - 1e-9));
  EXPECT_GT(ComputeOneRunEpsilonLower({1000, 100, correct}, 1e-5, 0.05), 0);
  EXPECT_EQ(ComputeOneRunEpsilonLower({1000, 100, correct - 1}, 1e-5, 0.05), 0);
  EXPECT_TRUE(std::isinf(ComputeOneRunDetectableEpsilon({4, 2, 0}, 1e-5, 0.05)));
}

// At least so many of the trials of a coin that falls right with `rate`.
double BinomialTail(std::int64_t trials, std::int64_t least, double rate) {
  double tail = 0;
  for (std::int64_t i = least; i <= trials; ++i) {
    const auto n = static_cast<double>(trials), k = static_cast<double>(i);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(rate) +
                     (n - k) * std::log1p(-rate));
  }
  return tail;
}

TEST(OneRunPower, IsTheRateOfRightGuessesThatIsUsuallyFound) {
  const OneRunAudit audit{1000, 100, 0};
  const double rate = ComputeOneRunNeededAccuracy(audit, 1e-5, 0.05, 0.8);
  std::int64_t least = 50;
  while (ComputeOneRunEpsilonLower({1000, 100, least}, 1e-5, 0.05) == 0) ++least;
  EXPECT_NEAR(BinomialTail(100, least, rate), 0.8, 1e-9);
  EXPECT_TRUE(std::isinf(ComputeOneRunNeededAccuracy({4, 2, 0}, 1e-5, 0.05, 0.8)));
  EXPECT_TRUE(std::isinf(ComputeOneRunNeededAccuracy(audit, 1e-5, 0.05, 1)));
}

// Randomised response does what epsilon allows: no bound may be smaller than its probability, and where all guesses are
// right it is that.
TEST(OneRunTradeOff, OfRandomisedResponseIsNeverExceeded) {
  const double right = 1 / (1 + std::exp(-1.0));
  const TradeOff curve = MakePairsTradeOff({{1, 0}});
  for (std::int64_t correct = 8; correct < 20; ++correct)
    EXPECT_GE(ComputeOneRunTradeOffPValue({20, 20, correct}, curve), BinomialTail(20, correct, right)) << correct;
  EXPECT_NEAR(ComputeOneRunTradeOffPValue({20, 20, 20}, curve) / std::pow(right, 20), 1, 1e-9);
}

// Each coin under noise of its own, guessed as well as can be: no probability may be larger than the bound.
TEST(OneRunTradeOff, OfGaussianNoiseIsNeverExceeded) {
  for (const double mu : {0.3, 1.0, 2.0}) {
    const double right = std::erfc(-mu / 2 / std::sqrt(2.0)) / 2;
    for (std::int64_t correct = 25; correct <= 50; ++correct)
      EXPECT_GE(ComputeOneRunTradeOffPValue({50, 50, correct}, MakeGaussianTradeOff(mu)) * (1 + 1e-9),
                BinomialTail(50, correct, right))
          << mu << " " << correct;
  }
}

// A mechanism of mu = 2 that is claimed to have 0.2 is found out; one that has 0.2 is not.
TEST(OneRunTradeOff, RefutesNoiseThatIsTooSmall) {
  const OneRunAudit leaky{500, 500, 420}, honest{500, 500, 270};
  EXPECT_LT(ComputeOneRunTradeOffPValue(leaky, MakeGaussianTradeOff(0.2)), 1e-9);
  EXPECT_GT(ComputeOneRunTradeOffPValue(honest, MakeGaussianTradeOff(0.2)), 0.05);
  EXPECT_GT(ComputeOneRunMuLower(leaky, 0.05), 0.6);
  EXPECT_LT(ComputeOneRunMuLower(leaky, 0.05), 2);
  EXPECT_LT(ComputeOneRunMuLower(honest, 0.05), 0.2);
}

TEST(OneRunTradeOff, SaysNothingOutOfRange) {
  EXPECT_EQ(ComputeOneRunTradeOffPValue({10, 11, 3}, MakeGaussianTradeOff(1)), 1);
  EXPECT_EQ(ComputeOneRunTradeOffPValue({10, 10, 0}, MakeGaussianTradeOff(1)), 1);
  EXPECT_EQ(ComputeOneRunMuLower({10, 10, 11}, 0.05), 0);
  EXPECT_EQ(ComputeOneRunMuLower({10, 10, 10}, 0), 0);
  const TradeOff curve = MakeGaussianTradeOff(1);
  EXPECT_EQ(curve(0), 0);
  EXPECT_EQ(curve(1), 1);
  EXPECT_NEAR(curve(0.5), std::erfc(1 / std::sqrt(2.0)) / 2, 1e-15);
}

}  // namespace
}  // namespace retort::privacy
