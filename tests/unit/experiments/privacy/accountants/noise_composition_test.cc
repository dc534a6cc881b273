// Composed Laplace and discrete Gaussian noise between two bounds.
#include "experiments/privacy/accountants/scalar_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "tests/unit/experiments/privacy/numbers.h"

namespace retort::privacy {
namespace {

void ExpectAround(const LossBracket& bracket, double exact, const std::string& where, double width = 2e-3) {
  EXPECT_LE(bracket.lower, exact * (1 + 1e-9)) << where;
  EXPECT_GE(bracket.upper, exact * (1 - 1e-12)) << where;
  EXPECT_LT(bracket.upper, exact * (1 + 3e-4) + 1e-6) << where;
  EXPECT_GT(bracket.lower, exact * (1 - width) - 1e-6) << where;
}

TEST(ComposedLaplace, BracketHoldsTheClosedFormOfOneRelease) {
  for (const double ratio : {0.1, 1.0, 6.0}) {
    for (const double delta : {1e-2, 1e-4}) {
      const double exact = std::max(0.0, ratio + 2 * std::log1p(-delta));
      ExpectAround(ComposeLaplace(ratio, 1, delta), exact, std::to_string(ratio));
    }
  }
}

// The loss of one of two releases in closed form, of the other by quadrature.
double DeltaOfTwoLaplace(double ratio, double epsilon) {
  const auto curve = [ratio](double e) {
    return e >= 0 ? ComputeLaplaceDelta(ratio, e) : -std::expm1(e) + std::exp(e) * ComputeLaplaceDelta(ratio, -e);
  };
  double delta = curve(epsilon - ratio) / 2 + std::exp(-ratio) / 2 * curve(epsilon + ratio);
  constexpr int kPoints = 200'000;
  const double width = 2 * ratio / kPoints;
  for (int i = 0; i < kPoints; ++i) {
    const double loss = -ratio + (i + 0.5) * width;
    delta += width * std::exp((loss - ratio) / 2) / 4 * curve(epsilon - loss);
  }
  return delta;
}

TEST(ComposedLaplace, BracketHoldsTwoReleasesByQuadrature) {
  for (const double ratio : {0.3, 2.0}) {
    for (const double delta : {0.05, 1e-3}) {
      const double exact = Root([=](double e) { return DeltaOfTwoLaplace(ratio, e); }, delta);
      ExpectAround(ComposeLaplace(ratio, 2, delta), exact, std::to_string(ratio), 0.02);
    }
  }
}

// delta of `count` draws by convolving their losses, which lie on a lattice.
double DeltaOfDraws(double sigma, int sensitivity, int count, double epsilon) {
  const int reach = static_cast<int>(12 * sigma) + 2;
  std::vector<double> one;
  double all = 0;
  for (int x = -reach; x <= reach; ++x) one.push_back(std::exp(-x * x / (2 * sigma * sigma)));
  for (const double mass : one) all += mass;
  std::vector<double> sum = {1};
  for (int draw = 0; draw < count; ++draw) {
    std::vector<double> next(sum.size() + one.size() - 1, 0);
    for (std::size_t i = 0; i < sum.size(); ++i)
      for (std::size_t j = 0; j < one.size(); ++j) next[i + j] += sum[i] * one[j] / all;
    sum = std::move(next);
  }
  double delta = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double x = static_cast<double>(i) - static_cast<double>(count) * reach;
    const double loss = sensitivity * (count * sensitivity - 2 * x) / (2 * sigma * sigma);
    if (loss > epsilon) delta -= sum[i] * std::expm1(epsilon - loss);
  }
  return delta;
}

// Every release may lose all that one can, together with a probability of 2^-count.
TEST(ComposedLaplace, BracketIsNarrowWhereDeltaSeesTheLargestLoss) {
  for (const double ratio : {0.05, 0.2234, 1.0, 3.0})
    for (const std::int64_t count : {4, 10, 25})
      for (const double times : {1.02, 1.28, 2.0, 8.0}) {
        const LossBracket bracket = ComposeLaplace(ratio, count, times * std::exp2(-count));
        EXPECT_GT(bracket.lower, bracket.upper * (1 - 5e-3) - 1e-6) << ratio << " " << count << " " << times;
      }
}

TEST(ComposedDiscreteGaussian, BracketHoldsTheConvolutionOfItsDraws) {
  for (const double sigma : {0.8, 3.0}) {
    for (const int sensitivity : {1, 3}) {
      for (const int count : {1, 2, 9}) {
        const double exact = Root([=](double e) { return DeltaOfDraws(sigma, sensitivity, count, e); }, 1e-5);
        ExpectAround(ComposeDiscreteGaussian(sigma, sensitivity, count, 1e-5), exact,
                     std::to_string(sigma) + " " + std::to_string(sensitivity) + " " + std::to_string(count), 0.02);
      }
    }
  }
}

TEST(ComposedDiscreteGaussian, IsTheGaussianOnceTheLatticeIsFine) {
  const double gaussian = ComputeGaussianEpsilon(1e-6, std::sqrt(200) * 5 / 60);
  const LossBracket bracket = ComposeDiscreteGaussian(60, 5, 200, 1e-6);
  EXPECT_NEAR(bracket.upper, gaussian, 1e-3 * gaussian);
  EXPECT_GT(bracket.lower, 0.99 * gaussian);
}

TEST(NoiseComposition, IsTighterThanRdpAndGrowsWithTheReleases) {
  const double laplace = ComposeLaplace(0.1, 500, 1e-5).upper;
  EXPECT_LT(laplace,
            ComputeEpsilonFromRdp([](double order) { return 500 * ComputeLaplaceRdp(0.1, order); }, 1e-5).epsilon);
  EXPECT_LT(laplace, ComposeLaplace(0.1, 510, 1e-5).upper);
  EXPECT_GT(laplace, ComposeLaplace(0.099, 500, 1e-5).upper);
  const double discrete = ComposeDiscreteGaussian(3, 1, 50, 1e-5).upper;
  EXPECT_LT(discrete, ComputeEpsilonFromRdp([](double order) { return 50 * order / 18; }, 1e-5).epsilon);
  EXPECT_LT(discrete, ComposeDiscreteGaussian(3, 1, 51, 1e-5).upper);
}

TEST(NoiseComposition, WhatNoDeltaCanSeeCostsNothing) {
  EXPECT_EQ(ComposeLaplace(1e-9, 100, 1e-5).upper, 0);
  EXPECT_EQ(ComposeDiscreteGaussian(2000, 1, 2, 0.1).upper, 0);
}

TEST(NoiseComposition, ExtremesEndInABracketOrInNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double size : {0.0, -1.0, nan, 1e-300, 1e-6, 0.05, 1.0, 250.0, 1e6, 1e300}) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, kMaxComposedCount}) {
      for (const double delta : {0.0, 1e-300, 1e-12, 0.5, 1.0, nan}) {
        for (const LossBracket& bracket :
             {ComposeLaplace(size, count, delta), ComposeDiscreteGaussian(size, 1, count, delta),
              ComposeDiscreteGaussian(size, 1'000'000'000, count, delta)}) {
          EXPECT_GE(bracket.upper, bracket.lower) << size << " " << count << " " << delta;
          EXPECT_GE(bracket.lower, 0) << size << " " << count << " " << delta;
        }
      }
    }
  }
}

}  // namespace
}  // namespace retort::privacy
