#include "orchestrator/cli/statistics.h"

#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

TEST(Statistics, NothingMeasuredHasNoSpread) {
  const Summary summary = Summarize({});
  EXPECT_EQ(summary.n, 0);
  EXPECT_FALSE(summary.sd);
  EXPECT_FALSE(summary.ci95);
}

TEST(Statistics, OneValueHasAMeanAndNoSpread) {
  const Summary summary = Summarize({0.5});
  EXPECT_EQ(summary.n, 1);
  EXPECT_DOUBLE_EQ(summary.mean, 0.5);
  EXPECT_FALSE(summary.sd);
  EXPECT_FALSE(summary.ci95);
}

// By hand: mean 3, squares 4 + 1 + 0 + 1 + 4 = 10, sd = sqrt(10 / 4); t(4, 0.975) = 2.7764451.
TEST(Statistics, SpreadIsTheSampleStandardDeviation) {
  const Summary summary = Summarize({1, 2, 3, 4, 5});
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
  const Summary summary = Summarize({0.91, 0.93});
  ASSERT_TRUE(summary.ci95);
  EXPECT_NEAR(summary.ci95->second - summary.mean, 0.127062047, 1e-8);
}

}  // namespace
}  // namespace retort::orchestrator::cli
