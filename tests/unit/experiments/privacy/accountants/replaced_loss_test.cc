#include "experiments/privacy/accountants/subsampled_loss.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/pld_accountant.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "tests/unit/experiments/privacy/loss_atoms.h"
#include "tests/unit/experiments/privacy/numbers.h"

namespace retort::privacy {
namespace {

using Real = long double;  // in doubles the tails vanish that epsilons in the hundreds need

Real Above(Real t, Real mean, Real z) { return std::erfc((t - mean) / (z * std::numbers::sqrt2_v<Real>)) / 2; }

// [P - e^epsilon Q]_+ in closed form: P wins from the outcome on where the ratio of the densities is
// e^epsilon.
double DeltaOfStep(Real q, Real z, Real epsilon) {
  const auto ratio = [=](Real t) {
    const Real up = std::exp((2 * t - 1) / (2 * z * z)), down = std::exp((-2 * t - 1) / (2 * z * z));
    return std::log((1 - q + q * up) / (1 - q + q * down));
  };
  Real low = -40 * z - 1, high = 40 * z + 1;
  for (int round = 0; round < 200; ++round) {
    const Real middle = (low + high) / 2;
    (ratio(middle) < epsilon ? low : high) = middle;
  }
  const Real from = (low + high) / 2;
  const auto beyond = [=](Real mean) { return (1 - q) * Above(from, 0, z) + q * Above(from, mean, z); };
  return static_cast<double>(beyond(1) - std::exp(epsilon) * beyond(-1));
}

TEST(ReplacedLoss, OneDistributionLosesMoreThanTheStepAndOneLess) {
  for (const double q : {0.003, 0.2, 0.9, 1.0}) {
    for (const double z : {0.4, 1.0, 5.0}) {
      const DirectionGrid grid = MakeReplacedLoss({q, z, 1e-14}).grid(0.01);
      double mass = grid.infinite;
      for (const LossAtom& atom : grid.more) mass += atom.mass;
      EXPECT_NEAR(mass, 1, 1e-12) << q << " " << z;
      for (double epsilon = -1; epsilon < 4; epsilon += 0.037) {
        const double delta = DeltaOfStep(q, z, epsilon),
                     more = ComputeAtomsDelta(grid.more, 0.01, 0, epsilon) + grid.infinite;
        EXPECT_GE(more, delta - 1e-13) << q << " " << z << " " << epsilon;
        EXPECT_LE(more, delta + 0.01) << q << " " << z << " " << epsilon;
        EXPECT_LE(ComputeAtomsDelta(grid.less, 0.01, grid.slack_least, epsilon), delta + 1e-13)
            << q << " " << z << " " << epsilon;
      }
    }
  }
}

TEST(ReplacedLoss, DeltaAtZeroIsThatOfTheStep) {
  for (const double q : {0.003, 0.4, 1.0})
    for (const double z : {0.5, 7.0})
      EXPECT_NEAR(ComputeReplacedDeltaAtZero(q, z), DeltaOfStep(q, z, 0), 1e-12) << q << z;
}

// Of gradients in the plane, by a sum over a lattice of outcomes.
double DeltaOfGradients(double q, double z, std::array<double, 2> x, std::array<double, 2> other, double epsilon) {
  const double stride = z / 20, reach = 1 + 6 * z;
  double delta = 0;
  for (double a = -reach; a < reach; a += stride) {
    for (double b = -reach; b < reach; b += stride) {
      const auto density = [=](double u, double v) {
        return std::exp(-((a - u) * (a - u) + (b - v) * (b - v)) / (2 * z * z));
      };
      const double still = (1 - q) * density(0, 0);
      const double p = still + q * density(x[0], x[1]), other_p = still + q * density(other[0], other[1]);
      delta += std::max(0.0, p - std::exp(epsilon) * other_p);
    }
  }
  return delta * stride * stride / (2 * std::numbers::pi * z * z);
}

TEST(ReplacedLoss, NoTwoGradientsLoseMoreThanOppositeOnes) {
  std::mt19937 dice(5);
  std::uniform_real_distribution<double> angle(0, 2 * std::numbers::pi), norm(0, 1);
  constexpr double kLattice = 2e-4;
  for (const double q : {0.3, 0.9}) {
    for (const double z : {0.6, 1.2}) {
      for (const double epsilon : {-0.7, 0.0, 0.3, 0.9}) {
        const double most = DeltaOfStep(q, z, epsilon);
        ASSERT_GT(most, 20 * kLattice);
        EXPECT_NEAR(DeltaOfGradients(q, z, {1, 0}, {-1, 0}, epsilon), most, kLattice);
        for (int pair = 0; pair < 4; ++pair) {
          const double a = angle(dice), b = angle(dice), length = pair < 2 ? 1 : norm(dice);
          const double delta =
              DeltaOfGradients(q, z, {std::cos(a), std::sin(a)}, {length * std::cos(b), length * std::sin(b)}, epsilon);
          EXPECT_LE(delta, most + kLattice) << q << " " << z << " " << epsilon << " " << a << " " << b << " " << length;
        }
      }
    }
  }
}

// dp-accounting 0.6.0, PLDAccountant for REPLACE_ONE, losses on a grid of 2e-5.
TEST(ReplacedPld, AgreesWithDpAccounting) {
  struct Case {
    double q, z;
    std::int64_t steps;
    double delta, epsilon;
  };
  for (const Case& c :
       {Case{0.1, 1, 100, 1e-5, 10.516380070535831}, Case{0.128, 5.4, 120, 1e-5, 2.0761234725517865},
        Case{0.01, 0.9, 1000, 1e-6, 3.822759737750482}, Case{0.7, 2, 10, 1e-4, 9.670300739160396},
        Case{0.04, 1.5, 2250, 1e-5, 13.488496588546571}, Case{0.0185, 0.4, 15, 7.4e-6, 10.61725214301397}}) {
    const PldBracket bracket = ComputeSubsampledGaussianPldReplaced(c.q, c.z, c.steps, c.delta);
    EXPECT_NEAR(bracket.upper, c.epsilon, 2e-4 * c.epsilon) << c.q;
    EXPECT_LE(bracket.lower, c.epsilon) << c.q;
    EXPECT_GT(bracket.lower, c.epsilon * (1 - 2e-3)) << c.q;
  }
}

// Twice the distance is the whole truth where every step takes every example.
TEST(ReplacedPld, IsThatOfAGaussianWithoutSubsampling) {
  for (const double z : {0.8, 6.0, 60.0}) {
    const std::int64_t steps = z < 1 ? 1 : 300;
    const double exact = ComputeGaussianEpsilon(1e-6, 2 * std::sqrt(static_cast<double>(steps)) / z);
    const PldBracket bracket = ComputeSubsampledGaussianPldReplaced(1, z, steps, 1e-6);
    EXPECT_GE(bracket.upper, exact * (1 - 1e-12)) << z;
    EXPECT_LT(bracket.upper, exact * (1 + 1e-3)) << z;
    EXPECT_LE(bracket.lower, exact) << z;
  }
}

// One step: the epsilon at which the closed form is delta.
TEST(ReplacedPld, BracketsOneStep) {
  for (const double q : {0.004, 0.3}) {
    for (const double z : {0.3, 1.0, 3.0}) {
      const double delta = 1e-7;
      const PldBracket bracket = ComputeSubsampledGaussianPldReplaced(q, z, 1, delta);
      EXPECT_LE(DeltaOfStep(q, z, bracket.upper), delta * (1 + 1e-9)) << q << " " << z;
      EXPECT_GE(DeltaOfStep(q, z, bracket.lower), delta * (1 - 1e-9)) << q << " " << z;
      EXPECT_LE(bracket.upper - bracket.lower, 3e-3 * bracket.upper) << q << " " << z;
    }
  }
}

// Probabilities of 1e-300 and less are lost on the way; no bound may be.
TEST(ReplacedPld, HoldsWhereProbabilitiesVanish) {
  for (const double q : {1e-9, 0.5, 1.0}) {
    for (const double z : {0.1, 0.5, 4.0}) {
      for (const double delta : {1e-68, 1e-170, 1e-200, 1e-298}) {
        const double upper = ComputeSubsampledGaussianPldReplaced(q, z, 1, delta, kInfinity).upper;
        if (upper > 600) continue;
        EXPECT_LE(DeltaOfStep(q, z, upper), delta * (1 + 1e-6)) << q << " " << z << " " << delta;
      }
    }
  }
}

TEST(ReplacedPld, CostsMoreThanRemovalAndLessThanRemovalAndAddition) {
  for (const double q : {1e-4, 0.01, 0.128, 0.7}) {
    for (const double z : {0.5, 0.9, 5.4, 40.0}) {
      const double delta = 1e-5, replaced = ComputeSubsampledGaussianPldReplaced(q, z, 120, delta).upper;
      EXPECT_GE(replaced, ComputeSubsampledGaussianPld(q, z, 120, delta).lower) << q << " " << z;
      const auto rdp = [=](double order) { return 120 * ComputeSubsampledGaussianRdp(q, z, order); };
      EXPECT_LT(replaced, ReplaceOneEpsilon(rdp, delta).epsilon) << q << " " << z;
    }
  }
}

TEST(ReplacedPld, NothingIsLostWhereDeltasAddUpToLess) {
  EXPECT_EQ(ComputeSubsampledGaussianPldReplaced(1e-6, 10, 10, 1e-5).upper, 0);
}

TEST(ReplacedPld, OutOfRangeIsUnboundedWithTheReason) {
  for (const PldBracket& bracket :
       {ComputeSubsampledGaussianPldReplaced(0, 1, 1, 1e-5), ComputeSubsampledGaussianPldReplaced(0.1, 1, 0, 1e-5),
        ComputeSubsampledGaussianPldReplaced(0.1, 1, 1, 1), ComputeSubsampledGaussianPldReplaced(0.1, 1e-3, 1, 1e-5)}) {
    EXPECT_EQ(bracket.upper, kInfinity);
    EXPECT_FALSE(bracket.reason.empty());
  }
}

}  // namespace
}  // namespace retort::privacy
