#include "experiments/privacy/accountants/pld_accountant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/loss_grid.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/subsampled_loss.h"
#include "tests/unit/experiments/privacy/loss_atoms.h"
#include "tests/unit/experiments/privacy/numbers.h"

namespace retort::privacy {
namespace {

double Upper(double q, double z, std::int64_t steps, double delta) {
  return ComputeSubsampledGaussianPld(q, z, steps, delta).upper;
}

TEST(LossGrid, OneDistributionLosesMoreThanTheStepAndOneLess) {
  for (const double q : {0.003, 0.2, 0.9, 1.0}) {
    for (const double z : {0.4, 1.0, 5.0}) {
      const LossGrid grid = MakeGrid({q, z, 1e-14}, 0.01);
      for (double epsilon = -1; epsilon < 4; epsilon += 0.037) {
        const double remove = ComputeSubsampledDeltaRemove(q, z, epsilon);
        const double add = ComputeSubsampledDeltaAdd(q, z, epsilon);
        const DirectionGrid& r = grid.remove;
        const DirectionGrid& a = grid.add;
        EXPECT_GE(ComputeAtomsDelta(r.more, 0.01, 0, epsilon) + r.infinite, remove - 1e-13)
            << q << " " << z << " " << epsilon;
        EXPECT_GE(ComputeAtomsDelta(a.more, 0.01, 0, epsilon) + a.infinite, add - 1e-13)
            << q << " " << z << " " << epsilon;
        EXPECT_LE(ComputeAtomsDelta(r.less, 0.01, r.slack_least, epsilon), remove + 1e-13)
            << q << " " << z << " " << epsilon;
        EXPECT_LE(ComputeAtomsDelta(a.less, 0.01, a.slack_least, epsilon), add + 1e-13)
            << q << " " << z << " " << epsilon;
      }
    }
  }
}

TEST(LossGrid, NoMassIsLostOnTheSideOfMoreLoss) {
  for (const double q : {1e-6, 0.003, 0.5, 1 - 1e-10, 1.0}) {
    for (const double z : {kMinMultiplier, 0.8, 30.0}) {
      const LossGrid grid = MakeGrid({q, z, 1e-38}, 0.03);
      for (const DirectionGrid* direction : {&grid.remove, &grid.add}) {
        double mass = direction->infinite;
        for (const LossAtom& atom : direction->more) mass += atom.mass;
        EXPECT_NEAR(mass, 1, 1e-12) << q << " " << z;
        EXPECT_TRUE(std::isfinite(direction->slack_mean + direction->slack_variance)) << q << " " << z;
      }
    }
  }
}

TEST(Pld, BracketHoldsTheExactGaussianWithoutSubsampling) {
  for (const double z : {0.3, 2.0, 30.0}) {
    for (const std::int64_t steps : {1, 500}) {
      for (const double delta : {1e-5, 1e-12}) {
        const double exact = ComputeGaussianEpsilon(delta, std::sqrt(static_cast<double>(steps)) / z);
        const PldBracket bracket = ComputeSubsampledGaussianPld(1, z, steps, delta);
        EXPECT_LE(bracket.lower, exact) << z << " " << steps << " " << delta;
        EXPECT_GE(bracket.upper, exact) << z << " " << steps << " " << delta;
        EXPECT_LT(bracket.upper, exact * (1 + 1e-4)) << z << " " << steps << " " << delta;
        EXPECT_GT(bracket.lower, exact * (1 - 3e-3)) << z << " " << steps << " " << delta;
      }
    }
  }
}

// As low as doubles reach, where one step's rarest loss binds or the sum of many.
TEST(Pld, ARarerFailureNeverCostsLess) {
  struct Release {
    double q, z;
    std::int64_t steps;
  };
  for (const Release& c : {Release{2.9679803970828806e-06, 1.9044213601937607, 11716894}, Release{1e-3, 0.5, 3},
                           Release{1, 7, 40}, Release{1e-9, 300, 1000}}) {
    double added = 0, replaced = 0;
    for (const double delta : {1e-60, 1e-280, 1e-287, 1e-290, 1e-294, 1e-300, 5e-324}) {
      const double add = ComputeSubsampledGaussianPld(c.q, c.z, c.steps, delta, kInfinity).upper;
      const double replace = ComputeSubsampledGaussianPldReplaced(c.q, c.z, c.steps, delta, kInfinity).upper;
      EXPECT_GE(add, added * (1 - 1e-2)) << c.q << " " << delta;
      EXPECT_GE(replace, replaced * (1 - 1e-2)) << c.q << " " << delta;
      EXPECT_LE(ComputeSubsampledDeltaRemove(c.q, c.z, add), delta * (1 + 1e-6)) << c.q << " " << delta;  // of one step
      added = add;
      replaced = replace;
    }
  }
}

TEST(Pld, BracketHoldsTheExactGaussianAtScatteredParameters) {
  std::mt19937 draw(11);
  const auto between = [&draw](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(draw));
  };
  for (int i = 0; i < 40; ++i) {
    const double z = between(kMinMultiplier, 300);
    const auto steps = static_cast<std::int64_t>(between(1, 100000));
    const double delta = between(1e-30, 0.2);
    const double exact = ComputeGaussianEpsilon(delta, ComputeComposedMu({{steps, 1, z, 1}}));
    const PldBracket bracket = ComputeSubsampledGaussianPld(1, z, steps, delta);
    EXPECT_LE(bracket.lower, exact * (1 + 1e-12)) << z << " " << steps << " " << delta;
    EXPECT_GE(bracket.upper * (1 + 1e-12), exact) << z << " " << steps << " " << delta;
    EXPECT_LE(bracket.upper, exact * 1.001 + 1e-5) << z << " " << steps << " " << delta;
  }
}

// Losses of hundreds in one step: what one direction hardly sees is the other's whole mass.
TEST(Pld, BracketHoldsTheExactGaussianOfTinyNoise) {
  for (const double z : {0.0314347, 0.0370089, 0.12}) {
    const double exact = ComputeGaussianEpsilon(1e-29, std::sqrt(30) / z);
    const PldBracket bracket = ComputeSubsampledGaussianPld(1, z, 30, 1e-29);
    EXPECT_LE(bracket.lower, exact) << z;
    EXPECT_GE(bracket.upper, exact) << z;
    EXPECT_LT(bracket.upper, 1.02 * exact) << z;
  }
}

TEST(Pld, BracketHoldsTheClosedFormOfOneStep) {
  for (const double q : {0.01, 0.3, 0.95}) {
    for (const double z : {0.5, 1.0, 4.0}) {
      const double exact = Root(
          [=](double e) { return std::max(ComputeSubsampledDeltaRemove(q, z, e), ComputeSubsampledDeltaAdd(q, z, e)); },
          1e-6);
      const PldBracket bracket = ComputeSubsampledGaussianPld(q, z, 1, 1e-6);
      EXPECT_LE(bracket.lower, exact + 1e-12) << q << " " << z;
      EXPECT_GE(bracket.upper, exact) << q << " " << z;
      EXPECT_LT(bracket.upper, exact * (1 + 1e-4)) << q << " " << z;
    }
  }
}

// The first step's outcome by quadrature, the second step's curve in closed form.
double DeltaOfTwo(double q, double z, double epsilon, bool remove) {
  double delta = 0;
  const double width = z / 50;
  for (double t = -11 * z; t < 1 + 11 * z; t += width) {
    const double noise = std::exp(-t * t / (2 * z * z)) / (z * std::sqrt(2 * std::acos(-1.0)));
    const double ratio = 1 - q + q * std::exp((2 * t - 1) / (2 * z * z));
    delta += remove ? width * noise * ratio * ComputeSubsampledDeltaRemove(q, z, epsilon - std::log(ratio))
                    : width * noise * ComputeSubsampledDeltaAdd(q, z, epsilon + std::log(ratio));
  }
  return delta;
}

TEST(Pld, BracketHoldsTwoStepsByQuadratureInBothDirections) {
  for (const double q : {0.05, 0.6}) {
    const double z = 0.9;
    const double removed = Root([=](double e) { return DeltaOfTwo(q, z, e, true); }, 1e-4);
    const double added = Root([=](double e) { return DeltaOfTwo(q, z, e, false); }, 1e-4);
    const PldBracket bracket = ComputeSubsampledGaussianPld(q, z, 2, 1e-4);
    EXPECT_TRUE(bracket.removal_binds);
    EXPECT_LT(added, removed);
    EXPECT_LE(bracket.lower, removed * (1 + 1e-9));
    EXPECT_GE(bracket.upper, removed * (1 - 1e-9));
    EXPECT_LT(bracket.upper, removed * (1 + 1e-4));
  }
}

TEST(Pld, IsTighterThanRdp) {
  for (const double q : {0.002, 0.05}) {
    for (const std::int64_t steps : {10, 1000}) {
      const double rdp = ComputeSubsampledGaussianEpsilon(q, 0.9, static_cast<double>(steps), 1e-6).epsilon;
      EXPECT_LT(Upper(q, 0.9, steps, 1e-6), rdp) << q << " " << steps;
    }
  }
}

TEST(Pld, GrowsWithSamplingAndStepsAndFallsWithNoiseAndDelta) {
  const double base = Upper(0.02, 1.2, 400, 1e-6);
  EXPECT_GT(Upper(0.021, 1.2, 400, 1e-6), base);
  EXPECT_GT(Upper(0.02, 1.15, 400, 1e-6), base);
  EXPECT_GT(Upper(0.02, 1.2, 420, 1e-6), base);
  EXPECT_GT(Upper(0.02, 1.2, 400, 0.9e-6), base);
}

TEST(Pld, TwoHalvesCostNoLessThanTheWhole) {
  for (const double q : {0.01, 0.4}) {
    const double whole = Upper(q, 1.1, 200, 2e-6);
    EXPECT_LE(whole, 2 * Upper(q, 1.1, 100, 1e-6)) << q;
    EXPECT_LE(Upper(q, 1.1, 200, 1e-6), 200 * Upper(q, 1.1, 1, 1e-6 / 200)) << q;
  }
}

TEST(Pld, TinyDeltasStayTight) {
  for (const double delta : {1e-20, 1e-100, 1e-290}) {
    const PldBracket bracket = ComputeSubsampledGaussianPld(0.01, 1, 1000, delta);
    EXPECT_LT(bracket.upper, ComputeSubsampledGaussianEpsilon(0.01, 1, 1000, delta).epsilon) << delta;
    EXPECT_GT(bracket.lower, 0.99 * bracket.upper) << delta;
  }
}

TEST(Pld, WhatNoDeltaCanSeeCostsNothing) {
  EXPECT_EQ(Upper(1e-9, 1, 100, 1e-5), 0);
  EXPECT_EQ(Upper(0.5, 1e9, 10, 1e-5), 0);
}

TEST(Pld, ArgumentsOutOfRangeAreUnbounded) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const PldBracket& bracket :
       {ComputeSubsampledGaussianPld(0, 1, 1, 1e-5), ComputeSubsampledGaussianPld(1.1, 1, 1, 1e-5),
        ComputeSubsampledGaussianPld(nan, 1, 1, 1e-5), ComputeSubsampledGaussianPld(0.1, 0, 1, 1e-5),
        ComputeSubsampledGaussianPld(0.1, kInfinity, 1, 1e-5), ComputeSubsampledGaussianPld(0.1, 1, 0, 1e-5),
        ComputeSubsampledGaussianPld(0.1, 1, 1, 0), ComputeSubsampledGaussianPld(0.1, 1, 1, 1),
        ComputeSubsampledGaussianPld(0.1, 1, 1, nan)}) {
    EXPECT_EQ(bracket.upper, kInfinity);
    EXPECT_EQ(bracket.reason, "bad-parameters");
    EXPECT_EQ(bracket.lower, 0);
  }
}

// Every extreme ends soon with a bound or with none, never with a NaN or a lower end above the upper one.
TEST(Pld, ExtremesEndInABracket) {
  for (const double q : {1e-8, 1.0}) {
    for (const double z : {1e-3, 0.05, 1e4}) {
      for (const std::int64_t steps : {std::int64_t{1}, std::int64_t{4'000'000'000'000'000}}) {
        const PldBracket bracket = ComputeSubsampledGaussianPld(q, z, steps, 1e-5);
        EXPECT_GE(bracket.upper, bracket.lower) << q << " " << z << " " << steps;
        EXPECT_EQ(std::isfinite(bracket.upper), bracket.reason.empty()) << q << " " << z << " " << steps;
      }
    }
  }
}

TEST(Pld, WhereRoundingDominatesRdpTakesOver) {
  const PldBracket many = ComputeSubsampledGaussianPld(0.01, 1, 100'000'000'000, 1e-5);
  EXPECT_GT(many.rdp_order, 1);
  EXPECT_EQ(many.upper, ComputeSubsampledGaussianEpsilon(0.01, 1, 1e11, 1e-5).epsilon);
  EXPECT_EQ(ComputeSubsampledGaussianPld(0.01, 1, 1000, 1e-5).rdp_order, 0);
}

// Probabilities of 1e-300 and less are lost on the way; no bound may be.
TEST(Pld, HoldsWhereProbabilitiesVanish) {
  for (const double q : {1e-9, 0.5, 1.0}) {
    for (const double z : {0.1, 0.5, 4.0}) {
      for (const double delta : {1e-68, 1e-170, 1e-200, 1e-298}) {
        const double upper = ComputeSubsampledGaussianPld(q, z, 1, delta, kInfinity).upper;
        if (upper > 600) continue;
        const double lost = std::max(ComputeSubsampledDeltaRemove(q, z, upper), ComputeSubsampledDeltaAdd(q, z, upper));
        EXPECT_LE(lost, delta * (1 + 1e-6)) << q << " " << z << " " << delta;
      }
    }
  }
}

TEST(PldCalibration, NoiseMeetsTheEpsilonAndLittleLessDoesNot) {
  const double z = ComputeSubsampledGaussianPldNoise(1024.0 / 8000, 80, 1e-5, 3);
  EXPECT_LE(Upper(1024.0 / 8000, z, 80, 1e-5), 3);
  EXPECT_GT(Upper(1024.0 / 8000, z * (1 - 1e-4), 80, 1e-5), 3);
  EXPECT_LT(z, ComputeSubsampledGaussianNoise(1024.0 / 8000, 80, 1e-5, 3));
  // Published: the least noise of one and of 25 steps at epsilon 1.
  EXPECT_NEAR(ComputeSubsampledGaussianPldNoise(0.01, 1, 1e-5, 1), 0.67379294682, 1e-4);
  EXPECT_NEAR(ComputeSubsampledGaussianPldNoise(0.001, 25, 1e-5, 1), 0.53492750433, 1e-4);
  EXPECT_TRUE(std::isnan(ComputeSubsampledGaussianPldNoise(0.1, 80, 1e-5, 0)));
}

// Much noise costs nothing at all here, which no chord can be drawn through.
TEST(PldCalibration, NoiseIsNoLargerThanNeededWhereMoreCostsNothing) {
  const double z = ComputeSubsampledGaussianPldNoise(0.1, 100, 0.1, 0.01);
  EXPECT_LE(Upper(0.1, z, 100, 0.1), 0.01);
  EXPECT_GT(Upper(0.1, z * 0.99, 100, 0.1), 0.01);
}

TEST(PldCalibration, StepsMeetTheEpsilonAndOneMoreDoesNot) {
  const std::int64_t steps = ComputeSubsampledGaussianPldSteps(0.02, 1.1, 1e-5, 2);
  EXPECT_LE(Upper(0.02, 1.1, steps, 1e-5), 2);
  EXPECT_GT(Upper(0.02, 1.1, steps + 1, 1e-5), 2);
  EXPECT_EQ(ComputeSubsampledGaussianPldSteps(0.5, 0.3, 1e-5, 0.5), 0);
  EXPECT_EQ(ComputeSubsampledGaussianPldSteps(0.5, 0.3, 1e-5, -1), -1);
}

}  // namespace
}  // namespace retort::privacy
