#include "experiments/privacy/accountants/rdp_accountant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "tests/unit/experiments/privacy/numbers.h"

namespace retort::privacy {
namespace {

// The moment's integral by the trapezoid rule, which converges exponentially here.
double RdpByQuadrature(double q, double z, double order) {
  const long double step = 0.01L * static_cast<long double>(z);
  long double excess = 0;
  const long double far = static_cast<long double>(order) + 14 * static_cast<long double>(z);
  for (long double x = -far; x <= far; x += step) {
    const long double log_density = -x * x / (2.0L * z * z) - std::log(z * std::sqrt(2 * std::acos(-1.0L)));
    const long double ratio = (2 * x - 1) / (2.0L * z * z);
    const long double log_mix = std::log1p(q * std::expm1(ratio));
    excess += std::exp(log_density) * std::expm1(order * log_mix) * step;
  }
  return static_cast<double>(std::log1p(excess) / (order - 1));
}

TEST(SubsampledRdp, SeriesAgreesWithQuadratureAtWholeAndRealOrders) {
  for (const double q : {0.004, 0.128, 0.6}) {
    for (const double z : {0.8, 2.0, 5.0}) {
      for (const double order : {1.05, 1.7, 2.0, 3.3, 7.0, 18.4, 40.0}) {
        const double expected = RdpByQuadrature(q, z, order);
        EXPECT_NEAR(ComputeSubsampledGaussianRdp(q, z, order), expected, 1e-8 * expected)
            << q << " " << z << " " << order;
      }
    }
  }
}

TEST(SubsampledRdp, RealOrdersAreContinuousAtWholeOnes) {
  for (const double order : {2.0, 5.0, 31.0}) {
    const double whole = ComputeSubsampledGaussianRdp(0.05, 1.3, order);
    EXPECT_NEAR(ComputeSubsampledGaussianRdp(0.05, 1.3, order + 1e-9), whole, 1e-6 * whole);
  }
}

TEST(SubsampledRdp, WithoutSubsamplingItIsTheGaussian) {
  EXPECT_DOUBLE_EQ(ComputeSubsampledGaussianRdp(1, 2, 5), 5.0 / 8);
  EXPECT_EQ(ComputeSubsampledGaussianRdp(0, 2, 5), 0);
}

TEST(SubsampledRdp, ArgumentsOutOfRangeAreUnbounded) {
  EXPECT_EQ(ComputeSubsampledGaussianRdp(kNaN, 1, 2), kInfinity);
  EXPECT_EQ(ComputeSubsampledGaussianRdp(0.1, kNaN, 2), kInfinity);
  EXPECT_EQ(ComputeSubsampledGaussianRdp(0.1, 0, 2), kInfinity);
  EXPECT_EQ(ComputeSubsampledGaussianRdp(0.1, 1, 1), kInfinity);
  EXPECT_EQ(ComputeSubsampledGaussianRdp(1.5, 1, 2), kInfinity);
}

TEST(RdpConversion, NegativeOrUndefinedRdpIsRefusedAndNotCalledZero) {
  EXPECT_EQ(ConvertRdp(-1e-9, 4, 1e-5, RdpConversion::canonne_kamath_steinke), kInfinity);
  EXPECT_EQ(ConvertRdp(kNaN, 4, 1e-5, RdpConversion::mironov), kInfinity);
  const RdpEpsilon negative = FindBestOrder({2, 3}, {0.1, -0.1}, 1e-5, RdpConversion::canonne_kamath_steinke);
  EXPECT_EQ(negative.epsilon, kInfinity);
  EXPECT_EQ(negative.reason, "negative-or-undefined-rdp");
  const RdpEpsilon undefined = ComputeEpsilonFromRdp([](double) { return kNaN; }, 1e-5);
  EXPECT_EQ(undefined.epsilon, kInfinity);
  EXPECT_EQ(undefined.reason, "negative-or-undefined-rdp");
  EXPECT_EQ(ComputeEpsilonFromRdp([](double order) { return 5 - order; }, 1e-5).epsilon, kInfinity);
}

TEST(RdpConversion, InfiniteOrdersAreSkippedAndAllOfThemIsNoBound) {
  const RdpEpsilon one = FindBestOrder({2, 3}, {kInfinity, 0.1}, 1e-5, RdpConversion::canonne_kamath_steinke);
  EXPECT_EQ(one.order, 3);
  const RdpEpsilon none = ComputeEpsilonFromRdp([](double) { return kInfinity; }, 1e-5);
  EXPECT_EQ(none.epsilon, kInfinity);
  EXPECT_EQ(none.reason, "no-finite-order");
}

TEST(RdpConversion, OrderOneIsUndefined) {
  EXPECT_EQ(ConvertRdp(0.1, 1, 1e-5, RdpConversion::canonne_kamath_steinke), kInfinity);
}

TEST(RdpSearch, GridGrowsUpwardsWhenTheBestOrderIsAtItsEdge) {
  const double rho = 1e-8;
  const RdpEpsilon best = ComputeEpsilonFromRdp([rho](double order) { return rho * order; }, 1e-5);
  EXPECT_GT(best.order, 1000);
  EXPECT_LT(best.epsilon, 0.002);
}

TEST(RdpSearch, GridGrowsDownwardsWhenTheBestOrderIsAtItsEdge) {
  const double rho = 5e5;
  const RdpEpsilon best = ComputeEpsilonFromRdp([rho](double order) { return rho * order; }, 1e-5);
  EXPECT_LT(best.order, 1.05);
  EXPECT_LT(best.epsilon, ComputeGaussianEpsilon(1e-5, std::sqrt(2 * rho)) * 1.002);
}

// The best order lies close above a whole one, beyond which the curve climbs by hundreds.
TEST(RdpSearch, SteepValleysAreNotLeftEarly) {
  const auto scanned = [](double q, double z, double steps, double delta) {
    double best = kInfinity;
    for (double order = 2; order < 20; order += 0.01)
      best = std::min(best, ConvertRdp(steps * ComputeSubsampledGaussianRdp(q, z, order), order, delta,
                                       RdpConversion::canonne_kamath_steinke));
    return best;
  };
  EXPECT_LE(ComputeSubsampledGaussianEpsilon(0.00151037, 0.837352, 92, 3.3e-6).epsilon,
            scanned(0.00151037, 0.837352, 92, 3.3e-6) * (1 + 1e-6));
  EXPECT_LE(ComputeSubsampledGaussianEpsilon(0.00142248, 0.798909, 1056, 1.9e-8).epsilon,
            scanned(0.00142248, 0.798909, 1056, 1.9e-8) * (1 + 1e-6));
}

TEST(SubsampledRdp, WholeOrdersByFactorsAndByLogarithmsMeet) {
  // Just below and just above where the factors overflow, the curve stays smooth.
  const double z = 0.35;
  double before = ComputeSubsampledGaussianRdp(0.01, z, 40);
  double slope = 0;
  for (double order = 41; order < 90; ++order) {
    const double here = ComputeSubsampledGaussianRdp(0.01, z, order);
    if (slope > 0) {
      EXPECT_NEAR(here - before, slope, 2e-3 * slope) << order;
    }
    slope = here - before;
    before = here;
  }
}

TEST(RdpSearch, StandsAboveTheExactGaussianAndNearIt) {
  for (const double mu : {0.05, 0.7, 4.5, 60.0}) {
    const double exact = ComputeGaussianEpsilon(1e-5, mu);
    const double rdp = ComputeEpsilonFromRdp([mu](double order) { return order * mu * mu / 2; }, 1e-5).epsilon;
    EXPECT_GT(rdp, exact) << mu;
    EXPECT_LT(rdp, 1.25 * exact) << mu;
  }
}

// Below sqrt(1 - e^-KL) the total variation is delta already.
TEST(RdpSearch, WhatDeltaCannotSeeCostsNothing) {
  const double q = 1.5328901690e-05, z = 0.46386805357, delta = 0.00780862432;
  EXPECT_EQ(ComputeSubsampledGaussianEpsilon(q, z, 1, delta).epsilon, 0);
  EXPECT_GT(ComputeSubsampledGaussianEpsilon(q, z, 1, 1e-6).epsilon, 0);
  const auto curve = [=](double order) { return ComputeSubsampledGaussianRdp(q, z, order); };
  EXPECT_EQ(ReplaceOneEpsilon(curve, delta).epsilon, 0);
  EXPECT_GT(ComputeEpsilonFromRdp(curve, delta, RdpConversion::mironov).epsilon, 0);
  // Never below the exact curve of a Gaussian, which is 0 there too.
  for (const double mu : {1e-4, 1e-3, 1e-2, 0.1}) {
    const double seen = std::sqrt(-std::expm1(-1.1 * mu * mu / 2));
    const auto gaussian = [mu](double order) { return order * mu * mu / 2; };
    for (const double loose : {0.3 * seen, 0.999 * seen, 1.001 * seen})
      EXPECT_GE(ComputeEpsilonFromRdp(gaussian, loose).epsilon, ComputeGaussianEpsilon(loose, mu)) << mu;
    EXPECT_EQ(ComputeEpsilonFromRdp(gaussian, 1.001 * seen).epsilon, 0) << mu;
    const std::vector<double> orders = {1.1, 300}, rdp = {gaussian(1.1), 9};
    EXPECT_EQ(FindBestOrder(orders, rdp, 1.001 * seen, RdpConversion::canonne_kamath_steinke).epsilon, 0) << mu;
    EXPECT_GT(FindBestOrder(orders, rdp, 0.999 * seen, RdpConversion::canonne_kamath_steinke).epsilon, 0) << mu;
  }
  EXPECT_EQ(ComputeEpsilonFromRdp([](double) { return kNaN; }, 0.5).epsilon, kInfinity);
}

// A curve that is wrong at one order is not called 0 for another's sake, nor for its own.
TEST(RdpSearch, WrongRdpIsNoLittleOne) {
  const RdpEpsilon undefined = ComputeEpsilonFromRdp([](double order) { return order > 4 ? kNaN : 1e-12; }, 1e-5);
  EXPECT_EQ(undefined.epsilon, kInfinity);
  EXPECT_EQ(undefined.reason, "negative-or-undefined-rdp");
  EXPECT_EQ(ReplaceOneEpsilon([](double order) { return order > 4 ? -1 : 1e-12; }, 1e-5).epsilon, kInfinity);
  const double mu = 1e-4;
  const auto negative_below_two = [mu](double order) { return order < 2 ? -1e-9 : order * mu * mu / 2; };
  EXPECT_GE(ComputeEpsilonFromRdp(negative_below_two, 1e-5).epsilon, ComputeGaussianEpsilon(1e-5, mu));
  EXPECT_GT(ComputeGaussianEpsilon(1e-5, mu), 0);
}

// Coins of 0.56 and 0.44, neighbours of a fair one both: delta hides each beside it, not one from the other.
TEST(ReplaceOne, CostsNothingOnlyWhereBothHalvesAreHidden) {
  const double shift = 0.06;
  const auto to_fair = [](double order, double p) {
    return std::log(std::pow(p, order) * std::pow(0.5, 1 - order) + std::pow(1 - p, order) * std::pow(0.5, 1 - order)) /
           (order - 1);
  };
  const auto from_fair = [](double order, double p) {
    return std::log(std::pow(0.5, order) * (std::pow(p, 1 - order) + std::pow(1 - p, 1 - order))) / (order - 1);
  };
  const auto curve = [&](double order) { return std::max(to_fair(order, 0.5 + shift), from_fair(order, 0.5 + shift)); };
  EXPECT_EQ(ComputeEpsilonFromRdp(curve, 0.1).epsilon, 0);
  EXPECT_GE(ReplaceOneEpsilon(curve, 0.1).epsilon, std::log((0.56 - 0.1) / 0.44));
  EXPECT_EQ(ReplaceOneEpsilon(curve, 0.2).epsilon, 0);
}

TEST(SubsampledEpsilon, MoreStepsLessNoiseAndMoreSamplingCostMore) {
  const double base = ComputeSubsampledGaussianEpsilon(0.05, 1.5, 200, 1e-5).epsilon;
  EXPECT_GT(ComputeSubsampledGaussianEpsilon(0.05, 1.5, 400, 1e-5).epsilon, base);
  EXPECT_GT(ComputeSubsampledGaussianEpsilon(0.05, 0.75, 200, 1e-5).epsilon, base);
  EXPECT_GT(ComputeSubsampledGaussianEpsilon(0.1, 1.5, 200, 1e-5).epsilon, base);
}

TEST(SubsampledEpsilon, NoiseMultiplierForQuickstart) {
  const double z = ComputeSubsampledGaussianNoise(1024.0 / 8000, 80, 1e-5, 3);
  EXPECT_NEAR(z, 2.0073, 1e-4);
  EXPECT_LE(ComputeSubsampledGaussianEpsilon(1024.0 / 8000, z, 80, 1e-5).epsilon, 3);
  EXPECT_GT(ComputeSubsampledGaussianEpsilon(1024.0 / 8000, 0.9999 * z, 80, 1e-5).epsilon, 3);
  EXPECT_TRUE(std::isnan(ComputeSubsampledGaussianNoise(0.1, 80, 1e-5, 0)));
}

TEST(ReplaceOne, EqualsTheFormulaOfARemovalAndAnAddition) {
  const auto curve = [](double order) { return 80 * ComputeSubsampledGaussianRdp(0.128, 2, order); };
  const RdpEpsilon pair = ReplaceOneEpsilon(curve, 1e-5);
  ASSERT_TRUE(std::isfinite(pair.epsilon));
  // Some delta' below delta must give half of it and fit (1 + e^e) delta' <= delta.
  double best = kInfinity;
  for (double log_part = std::log(1e-5) - 12; log_part < std::log(1e-5); log_part += 0.02) {
    const double epsilon = ComputeEpsilonFromRdp(curve, std::exp(log_part)).epsilon;
    if (log_part + std::log1p(std::exp(epsilon)) <= std::log(1e-5)) best = std::min(best, 2 * epsilon);
  }
  EXPECT_NEAR(pair.epsilon, best, 0.01);
  EXPECT_GT(pair.epsilon, 2 * ComputeEpsilonFromRdp(curve, 1e-5).epsilon);
}

// Orders whose series begins below the least number that keeps its digits: the sums of 60 digits.
TEST(SubsampledRdp, IsNeverBelowWhereNearlyEverythingIsSampled) {
  struct Point {
    double q, z, order, rdp;
  };
  for (const Point& p : {Point{0x1.ffffffec3e3f2p-1, 3000, 573, 0.000031833333186904655},
                         Point{0x1.fffffff4d5451p-1, 3000, 557, 0.000030944444363991374},
                         Point{0x1.fffffff68d131p-1, 30, 552, 0.3066666661621118669}}) {
    EXPECT_GE(ComputeSubsampledGaussianRdp(p.q, p.z, p.order), p.rdp) << p.order;
    EXPECT_LE(ComputeSubsampledGaussianRdp(p.q, p.z, p.order), p.rdp * (1 + 1e-10)) << p.order;
  }
}

}  // namespace
}  // namespace retort::privacy
