#include "orchestrator/results/tables/statistics.h"

#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

TEST(Statistics, NothingMeasuredHasNoSpread) {
  const SeedSummary summary = Summarize({});
  EXPECT_EQ(summary.n, 0);
  EXPECT_FALSE(summary.sd);
  EXPECT_FALSE(summary.ci95);
}

TEST(Statistics, OneValueHasAMeanAndNoSpread) {
  const SeedSummary summary = Summarize({0.5});
  EXPECT_EQ(summary.n, 1);
  EXPECT_DOUBLE_EQ(summary.mean, 0.5);
  EXPECT_FALSE(summary.sd);
  EXPECT_FALSE(summary.ci95);
}

// By hand: mean 3, squares 4 + 1 + 0 + 1 + 4 = 10, sd = sqrt(10 / 4); t(4, 0.975) = 2.7764451.
TEST(Statistics, SpreadIsTheSampleStandardDeviation) {
  const SeedSummary summary = Summarize({1, 2, 3, 4, 5});
  EXPECT_EQ(summary.n, 5);
  EXPECT_DOUBLE_EQ(summary.mean, 3);
  ASSERT_TRUE(summary.sd);
  EXPECT_NEAR(*summary.sd, 1.5811388300841898, 1e-12);
  ASSERT_TRUE(summary.ci95);
  EXPECT_NEAR(summary.ci95->first, 3 - 2.7764451051977987 * 1.5811388300841898 / 2.23606797749979, 1e-9);
  EXPECT_NEAR(summary.ci95->second, 3 + 2.7764451051977987 * 1.5811388300841898 / 2.23606797749979, 1e-9);
}

// t(1, 0.975) = 12.7062047; two values 0.91 and 0.93: sd = 0.0141421, half width = 12.7062047 * 0.01.
TEST(Statistics, TwoValuesHaveAWideInterval) {
  const SeedSummary summary = Summarize({0.91, 0.93});
  ASSERT_TRUE(summary.ci95);
  EXPECT_NEAR(summary.ci95->second - summary.mean, 0.127062047, 1e-8);
}

// Means of two draws from {0, 1}: 0 and 1 with probability 1/4 each, far above 2.5 %.
TEST(Statistics, BootstrapOfTwoValuesReachesBoth) {
  const SeedSummary summary = Summarize({0, 1}, retort::Interval::bootstrap);
  ASSERT_TRUE(summary.ci95);
  EXPECT_DOUBLE_EQ(summary.ci95->first, 0);
  EXPECT_DOUBLE_EQ(summary.ci95->second, 1);
}

TEST(Statistics, BootstrapOfEqualValuesHasNoWidth) {
  const SeedSummary summary = Summarize({0.25, 0.25, 0.25}, retort::Interval::bootstrap);
  EXPECT_DOUBLE_EQ(summary.ci95->first, 0.25);
  EXPECT_DOUBLE_EQ(summary.ci95->second, 0.25);
  EXPECT_FALSE(Summarize({0.25}, retort::Interval::bootstrap).ci95);
}

// Of all 5^5 resamples of {1, 2, 3, 4, 5}: sums of at most 9 are C(9, 5) = 126 (4.03 %), of at most 8 are C(8, 5) = 56
// (1.79 %), so the 2.5th percentile of the mean is 9/5, and by symmetry the 97.5th is 21/5.
TEST(Statistics, BootstrapPercentilesAreThoseOfAllResamples) {
  const SeedSummary summary = Summarize({1, 2, 3, 4, 5}, retort::Interval::bootstrap);
  EXPECT_DOUBLE_EQ(summary.ci95->first, 1.8);
  EXPECT_DOUBLE_EQ(summary.ci95->second, 4.2);
  const SeedSummary again = Summarize({1, 2, 3, 4, 5}, retort::Interval::bootstrap);
  EXPECT_EQ(again.ci95, summary.ci95);
}

TEST(Statistics, CountsAreWholeNumbers) {
  const SeedSummary same = Summarize({155213, 155213, 155213});
  EXPECT_EQ(FormatMeasured(same, "student.parameters"), "155,213");
  EXPECT_EQ(FormatSeedsInterval(same, "student.parameters"), "");
  EXPECT_EQ(FindCount(same.mean, "student.parameters"), 155213);
  EXPECT_EQ(FormatPublished(1.41e6, "student.parameters"), "1,410,000");
  EXPECT_EQ(FormatPublished(40'000, "teacher.parameters"), "40,000");
  EXPECT_EQ(FormatMetric(23'528'522, "student.parameters"), "23,528,522");
  EXPECT_EQ(FormatMetric(0.9173, "test.accuracy"), "91.73 %");
  EXPECT_EQ(FormatMetric(0.4829131, "train.loss"), "0.482913");
  EXPECT_FALSE(FindCount(3, "train.loss"));
  EXPECT_EQ(FormatPublished(3.0, "seconds"), "3");
}

TEST(Statistics, AMeanOfCountsNeedNotBeWhole) {
  const SeedSummary steps = Summarize({1200, 1261});
  EXPECT_EQ(FormatMeasured(steps, "stop.step"), "1230.5 ± 43");
  EXPECT_FALSE(FindCount(steps.mean, "stop.step"));
  EXPECT_EQ(FormatSeedsInterval(steps, "stop.step"), FormatInterval(*steps.ci95, "stop.step"));
}

// By hand, z = 1.959964: centre (p + z^2/2n) / (1 + z^2/n), half width z / (1 + z^2/n) sqrt(p(1-p)/n + z^2/4n^2).
// n = 10, p = 0.5: z^2/n = 0.38414588, centre 0.5, half 1.959964/1.38414588 * sqrt(0.025 + 0.009603647) = 0.2634069.
TEST(Statistics, WilsonAgreesWithAHandWorkedExample) {
  const auto [low, high] = ComputeWilsonInterval(0.5, 10);
  EXPECT_NEAR(low, 0.2365931, 1e-6);
  EXPECT_NEAR(high, 0.7634069, 1e-6);
}

// All right in n examples: [n / (n + z^2), 1].
TEST(Statistics, WilsonStaysInsideTheUnitInterval) {
  const auto [low, high] = ComputeWilsonInterval(1, 1000);
  EXPECT_NEAR(low, 1000 / (1000 + 3.841458820694124), 1e-12);
  EXPECT_DOUBLE_EQ(high, 1);
  EXPECT_NEAR(ComputeWilsonInterval(0, 1000).second, 3.841458820694124 / (1000 + 3.841458820694124), 1e-12);
  EXPECT_NEAR(ComputeWilsonInterval(0, 1000).first, 0, 1e-15);
}

}  // namespace
}  // namespace retort::orchestrator::cli
