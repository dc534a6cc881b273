#include "experiments/privacy/accountants/randomized_response.h"

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "tests/unit/experiments/privacy/numbers.h"

namespace retort::privacy {
namespace {

TEST(RandomizedResponse, OneAnswerNeverCostsMoreThanItsEpsilon) {
  EXPECT_NEAR(ComputeComposedResponseEpsilon(1, 3, 1, 1e-300), 1, 1e-9);
  EXPECT_LT(ComputeComposedResponseEpsilon(1, 3, 1, 0.1), 1);
}

TEST(RandomizedResponse, CompositionAddsUpAndTwoChoicesAreTheWorst) {
  const double one = ComputeComposedResponseEpsilon(0.5, 3, 50, 1e-5);
  EXPECT_GT(ComputeComposedResponseEpsilon(0.5, 3, 100, 1e-5), one);
  EXPECT_GT(ComputeComposedResponseEpsilon(0.5, 2, 50, 1e-5), one);
  EXPECT_LT(ComputeComposedResponseEpsilon(0.5, 10, 50, 1e-5), one);
}

TEST(RandomizedResponse, TeacherEpsilonOfFiftyThousandLabels) {
  EXPECT_NEAR(ComputeComposedResponseEpsilon(1, 2, 50000, 1e-5), 23948, 1);
  EXPECT_NEAR(ComputeComposedResponseEpsilon(1, 3, 50000, 1e-5), 18978, 1);
  EXPECT_NEAR(ComputeComposedResponseEpsilon(1, 10, 50000, 1e-5), 7849, 1);
}

// Two choices by enumeration of the binomial, as an independent sum.
TEST(RandomizedResponse, AgreesWithTheBinomialSum) {
  const int count = 20;
  const double e0 = 0.4;
  const double epsilon = ComputeComposedResponseEpsilon(e0, 2, count, 1e-3);
  const double keep = std::exp(e0) / (std::exp(e0) + 1);
  double delta = 0;
  for (int kept = 0; kept <= count; ++kept) {
    const double log_p = std::lgamma(count + 1) - std::lgamma(kept + 1) - std::lgamma(count - kept + 1) +
                         kept * std::log(keep) + (count - kept) * std::log1p(-keep);
    delta += std::exp(log_p) * std::max(0.0, 1 - std::exp(epsilon - e0 * (2 * kept - count)));
  }
  EXPECT_NEAR(delta, 1e-3, 1e-10);
}

TEST(RandomizedResponse, WithoutAnswersItIsTheGaussianBeside) {
  // A response of almost no epsilon leaves the Gaussian's delta.
  const double delta = ComputeGaussianPlusResponseDelta(1, 1, 1e-9, 3, 1);
  EXPECT_NEAR(delta, std::exp(ComputeGaussianLogDelta(1, 1)), 1e-8);
}

TEST(RandomizedResponse, ArgumentsOutOfRangeAreUnbounded) {
  EXPECT_EQ(ComputeComposedResponseEpsilon(0, 3, 10, 1e-5), kInfinity);
  EXPECT_EQ(ComputeComposedResponseEpsilon(1, 1, 10, 1e-5), kInfinity);
  EXPECT_EQ(ComputeComposedResponseEpsilon(1, 3, -1, 1e-5), kInfinity);
  EXPECT_EQ(ComputeComposedResponseEpsilon(1, 3, 10, 0), kInfinity);
  EXPECT_EQ(ComputeResponseRdp(std::nan(""), 3, 2), kInfinity);
  EXPECT_EQ(ComputeGaussianPlusResponseDelta(1, std::nan(""), 1, 3, 1), 1);
}

}  // namespace
}  // namespace retort::privacy
