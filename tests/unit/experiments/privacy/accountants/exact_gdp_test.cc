#include "experiments/privacy/accountants/exact_gdp.h"
#include "tests/unit/experiments/privacy/numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace retort::privacy {
namespace {

TEST(ExactGdp, TeacherEpsilonOfThePublishedSettings) {
  EXPECT_NEAR(ComputeGaussianEpsilon(1e-5, 2 * 256 * std::sqrt(200.0) / 100), 2929.27947735, 1e-6);
  EXPECT_NEAR(ComputeGaussianEpsilon(1e-5, 2 * std::sqrt(200.0 * 256) / 100), 28.8387246701, 1e-8);
}

TEST(ExactGdp, EpsilonAndMuAreInverse) {
  for (const double mu : {1e-4, 0.02, 0.5, 1.0, 4.5, 70.0, 1036.0}) {
    for (const double delta : {1e-3, 1e-5, 1e-9, 1e-100}) {
      const double epsilon = ComputeGaussianEpsilon(delta, mu);
      if (epsilon == 0) continue;
      EXPECT_NEAR(ComputeGaussianMu(epsilon, delta), mu, 1e-8 * mu) << mu << " " << delta;
    }
  }
}

TEST(ExactGdp, EpsilonNeverFallsBelowTheCurve) {
  for (const double mu : {0.01, 0.3, 1.0, 7.0, 72.4, 1036.2}) {
    const double epsilon = ComputeGaussianEpsilon(1e-5, mu);
    EXPECT_LE(ComputeGaussianLogDelta(epsilon, mu), std::log(1e-5)) << mu;
  }
}

TEST(ExactGdp, EpsilonGrowsWithMuAndFallsWithDelta) {
  EXPECT_LT(ComputeGaussianEpsilon(1e-5, 1), ComputeGaussianEpsilon(1e-5, 1.0001));
  EXPECT_LT(ComputeGaussianEpsilon(1e-5, 1), ComputeGaussianEpsilon(1e-6, 1));
}

TEST(ExactGdp, UndefinedArgumentsAreUnbounded) {
  EXPECT_EQ(ComputeGaussianEpsilon(kNaN, 1), kInfinity);
  EXPECT_EQ(ComputeGaussianEpsilon(0, 1), kInfinity);
  EXPECT_EQ(ComputeGaussianEpsilon(1, 1), kInfinity);
  EXPECT_EQ(ComputeGaussianEpsilon(1e-5, kNaN), kInfinity);
  EXPECT_EQ(ComputeGaussianEpsilon(1e-5, -1), kInfinity);
  EXPECT_EQ(ComputeGaussianEpsilon(1e-5, kInfinity), kInfinity);
  EXPECT_EQ(ComputeGaussianMu(kNaN, 1e-5), 0);
  EXPECT_EQ(ComputeGaussianMu(1, kNaN), 0);
}

TEST(ExactGdp, SumIsExactWhereARunningDoubleIsNot) {
  EXPECT_EQ(ComputeMuSquaredUp({{3, 1, 1, 1}, {5, 2, 4, 2}}), 5.5);
  // Sixteen million terms of 2^-60 beside 1: a running double that starts at 1 keeps none of them.
  const double tiny = std::ldexp(1.0, -30);
  EXPECT_EQ(ComputeMuSquaredUp({{1, 1, 1, 1}, {1 << 24, tiny, 1, 1}}), 1 + std::ldexp(1.0, -36));
}

TEST(ExactGdp, SumIsRoundedUp) {
  const double third = ComputeMuSquaredUp({{1, 1, 3, 3}});
  EXPECT_GE(third, 1.0 / 3.0);
  EXPECT_LE(third, std::nextafter(1.0 / 3.0, 1.0));
  EXPECT_GT(third * 3.0L, 1.0L);
}

TEST(ExactGdp, ManyDifferentTermsStayAnUpperBound) {
  std::vector<GaussianTerm> terms;
  long double sum = 0;
  for (int i = 1; i <= 500; ++i) {
    terms.push_back({i, 1, 0.1 + i / 7.0, 1});
    sum += static_cast<long double>(i) / ((0.1 + i / 7.0) * static_cast<long double>(0.1 + i / 7.0));
  }
  const double bound = ComputeMuSquaredUp(terms);
  EXPECT_GE(static_cast<long double>(bound), sum * (1 - 1e-17L));
  EXPECT_LE(bound, static_cast<double>(sum) * (1 + 1e-14));
}

TEST(ExactGdp, TermsOutOfRangeAreUnbounded) {
  EXPECT_EQ(ComputeMuSquaredUp({{1, 1, 0, 1}}), kInfinity);
  EXPECT_EQ(ComputeMuSquaredUp({{-1, 1, 1, 1}}), kInfinity);
  EXPECT_EQ(ComputeMuSquaredUp({{1, kNaN, 1, 1}}), kInfinity);
  EXPECT_EQ(ComputeMuSquaredUp({{1, 1, kInfinity, 1}}), kInfinity);
  EXPECT_EQ(ComputeMuSquaredUp({}), 0);
}

TEST(ExactGdp, RoundingNeverGoesDown) {
  EXPECT_EQ(RoundEpsilonUp(2.9961), 2.997);
  EXPECT_EQ(RoundEpsilonUp(2.997), 2.998);  // the margin for earlier rounding takes the next thousandth
  EXPECT_EQ(RoundEpsilonUp(0), 0);
  EXPECT_EQ(RoundEpsilonUp(1e-12), 0.001);
  EXPECT_EQ(RoundEpsilonUp(kNaN), kInfinity);
  EXPECT_EQ(RoundEpsilonUp(-0.5), kInfinity);
  for (double epsilon = 0.0005; epsilon < 1e6; epsilon *= 1.37) EXPECT_GE(RoundEpsilonUp(epsilon), epsilon);
}

}  // namespace
}  // namespace retort::privacy
