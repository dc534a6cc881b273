// Laplace, the discrete Gaussian, one subsampled step, and bounds from attacks.
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/scalar_noise.h"
#include "experiments/privacy/accountants/subsampled_loss.h"
#include "experiments/privacy/attack_bounds.h"
#include "tests/unit/experiments/privacy/numbers.h"

namespace retort::privacy {
namespace {

TEST(Laplace, RdpGrowsFromKullbackLeiblerToTheLargestLoss) {
  const double kl = 0.7 + std::expm1(-0.7);
  EXPECT_NEAR(ComputeLaplaceRdp(0.7, 1 + 1e-7), kl, 1e-6);
  EXPECT_LT(ComputeLaplaceRdp(0.7, 2), ComputeLaplaceRdp(0.7, 3));
  EXPECT_NEAR(ComputeLaplaceRdp(0.7, 1e6), 0.7, 1e-5);
  EXPECT_LE(ComputeLaplaceRdp(0.7, 1e12), 0.7);
}

TEST(Laplace, SmallRatiosKeepTheirDigits) {
  const double ratio = 1e-6;
  EXPECT_NEAR(ComputeLaplaceRdp(ratio, 3), 3 * ratio * ratio / 2, 1e-4 * 3 * ratio * ratio / 2);
}

TEST(Laplace, DeltaIsZeroFromTheLargestLossOn) {
  EXPECT_EQ(ComputeLaplaceDelta(0.5, 0.5), 0);
  EXPECT_NEAR(ComputeLaplaceDelta(0.5, 0), -std::expm1(-0.25), 1e-15);
  EXPECT_EQ(ComputeLaplaceDelta(-1, 0.5), 1);
  EXPECT_EQ(ComputeLaplaceDelta(kNaN, 0.5), 1);
}

// A coarse lattice hides more than the continuous Gaussian, a fine one the same.
TEST(DiscreteGaussian, IsTheGaussianOnceTheLatticeIsFine) {
  const double exact = std::exp(ComputeGaussianLogDelta(1, 1));
  EXPECT_NEAR(ComputeDiscreteGaussianDelta(1000, 1000, 1), exact, 1e-3 * exact);
  EXPECT_GT(std::abs(ComputeDiscreteGaussianDelta(1, 1, 1) - exact), 1e-2 * exact);
}

TEST(DiscreteGaussian, ExtremesAreBoundsAndNeverNaN) {
  EXPECT_EQ(ComputeDiscreteGaussianDelta(1, 0, 1), 1);
  EXPECT_EQ(ComputeDiscreteGaussianDelta(0, 1, 1), 1);
  EXPECT_EQ(ComputeDiscreteGaussianDelta(1, 1, kNaN), 1);
  EXPECT_EQ(ComputeDiscreteGaussianDelta(1e9, 1, 1), 1);
  EXPECT_NEAR(ComputeDiscreteGaussianDelta(1, 1000, 1), 1, 1e-12);
  EXPECT_GE(ComputeDiscreteGaussianDelta(1, 1, 1e5), 0);
  EXPECT_LT(ComputeDiscreteGaussianDelta(1, 1, 1e5), 1e-300);
}

TEST(SubsampledStep, WithoutSubsamplingBothDirectionsAreTheGaussian) {
  for (const double epsilon : {-0.5, 0.0, 0.7, 3.0}) {
    const double exact = std::exp(ComputeGaussianLogDelta(epsilon, 1 / 1.3));
    EXPECT_NEAR(ComputeSubsampledDeltaRemove(1, 1.3, epsilon), exact, 1e-12 * exact);
    EXPECT_NEAR(ComputeSubsampledDeltaAdd(1, 1.3, epsilon), exact, 1e-12 * exact);
  }
}

// delta(-epsilon) of one direction is 1 - e^-epsilon + e^-epsilon delta(epsilon) of the other.
TEST(SubsampledStep, DirectionsAreEachOthersMirror) {
  for (const double q : {0.02, 0.5}) {
    for (const double epsilon : {0.01, 0.3, 1.5}) {
      const double mirrored = -std::expm1(-epsilon) + std::exp(-epsilon) * ComputeSubsampledDeltaAdd(q, 0.8, epsilon);
      EXPECT_NEAR(ComputeSubsampledDeltaRemove(q, 0.8, -epsilon), mirrored, 1e-12) << q << " " << epsilon;
    }
  }
}

TEST(SubsampledStep, AddingNeverCostsMoreThanTheChanceOfBeingLeftOut) {
  EXPECT_EQ(ComputeSubsampledDeltaAdd(0.01, 1, -std::log1p(-0.01) + 1e-9), 0);
  EXPECT_EQ(ComputeSubsampledDeltaRemove(0.1, 0, 1), 1);
  EXPECT_EQ(ComputeSubsampledDeltaAdd(kNaN, 1, 1), 1);
}

TEST(AuditBounds, PerfectAttackIsLimitedByItsRuns) {
  EXPECT_NEAR(AttackEpsilonLower({1000, 1000, 0}, 1e-5, 0.95), 5.6005774943, 1e-6);
  EXPECT_GT(AttackEpsilonLower({10000, 10000, 0}, 1e-5, 0.95), 7);
  EXPECT_LT(AttackEpsilonLower({1000, 1000, 0}, 1e-5, 1 - 1e-6), 5);
}

TEST(AuditBounds, GuessingOrBadCountsSayNothing) {
  EXPECT_EQ(AttackEpsilonLower({500, 250, 250}, 1e-5, 0.95), 0);
  EXPECT_EQ(AttackEpsilonLower({500, 501, 0}, 1e-5, 0.95), 0);
  EXPECT_EQ(AttackEpsilonLower({0, 0, 0}, 1e-5, 0.95), 0);
  EXPECT_EQ(ComputeOneRunEpsilonLower({1000, 100, 50}, 1e-5, 0.05), 0);
  EXPECT_EQ(ComputeOneRunPValue({10, 20, 5}, 1, 1e-5), 1);
}

TEST(AuditBounds, GdpRateIsTheFalsePositiveRateAtMuZero) {
  EXPECT_NEAR(ComputeGdpTruePositiveRate(0, 0.03), 0.03, 1e-15);
  EXPECT_TRUE(std::isnan(ComputeGdpTruePositiveRate(1, 0)));
  EXPECT_EQ(ComputeGdpTruePositiveRate(kInfinity, 0.1), 1);
}

}  // namespace
}  // namespace retort::privacy
