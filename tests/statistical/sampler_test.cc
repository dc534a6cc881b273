// Goodness of fit of the two samplers, with fixed seeds; with fresh ones each test would fail with
// probability at most 1e-6.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "tests/statistical/noise_checks.h"
#include "worker/noise/lattice_normal.h"
#include "worker/noise/lattice_samplers.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::noise {
namespace {

// Chi-square over every value with an expected count of at least 20, and both tails beyond.
double LatticeChiSquareTail(double scale, double claimed_scale, std::size_t n, std::uint64_t seed) {
  const LatticeGaussian lattice = LatticeGaussian::Create(scale).value();
  ChaChaStream bits(NoiseKey::FromSeed(seed, TrialId(1)), {0, Purpose::votes});
  std::vector<std::int32_t> draws(n);
  lattice.Sample(bits, draws);
  std::map<std::int64_t, double> seen;
  for (const std::int32_t draw : draws) seen[draw] += 1;
  std::int64_t edge = 0;
  while (ComputeLatticeGaussianProbability(claimed_scale, edge + 1) * static_cast<double>(n) >= 20) ++edge;
  double statistic = 0, inside = 0, seen_low = 0, seen_high = 0;
  for (std::int64_t k = -edge; k <= edge; ++k) {
    const double p = ComputeLatticeGaussianProbability(claimed_scale, k), expected = p * static_cast<double>(n);
    inside += p;
    statistic += (seen[k] - expected) * (seen[k] - expected) / expected;
  }
  for (const auto& [k, count] : seen)
    (k < -edge ? seen_low : k > edge ? seen_high : inside) += k < -edge || k > edge ? count : 0;
  const double tail = std::max((1 - inside) / 2 * static_cast<double>(n), 1e-3);
  statistic += (seen_low - tail) * (seen_low - tail) / tail + (seen_high - tail) * (seen_high - tail) / tail;
  return boost::math::cdf(
      boost::math::complement(boost::math::chi_squared(static_cast<double>(2 * edge + 2)), statistic));
}

TEST(LatticeGaussianFit, EveryValueHasItsExactProbability) {
  for (const double scale : {0.3, 1.0, 3.7, 40.0, 1194.0}) {
    const double p = LatticeChiSquareTail(scale, scale, 2'000'000, 77);
    EXPECT_GT(p, kFalseAlarm) << "s = " << scale;
    EXPECT_LT(p, 1 - kFalseAlarm) << "s = " << scale;
  }
}

TEST(LatticeGaussianFit, OtherScalesDoNotFit) {
  for (const double scale : {1.0, 40.0}) {
    EXPECT_LT(LatticeChiSquareTail(scale, scale * 1.01, 2'000'000, 77), kFalseAlarm) << "s = " << scale;
  }
}

// 20 million draws reach beyond five standard deviations; each band's count is Poisson.
TEST(LatticeGaussianFit, TailsHoldTheExactMass) {
  const double scale = 25;
  const LatticeGaussian lattice = LatticeGaussian::Create(scale).value();
  ChaChaStream bits(NoiseKey::FromSeed(5, TrialId(2)), {0, Purpose::votes});
  std::vector<std::int32_t> draws(1'000'000);
  std::map<int, double> beyond;
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    lattice.Sample(bits, draws);
    for (const std::int32_t draw : draws) {
      for (const int z : {3, 4, 5}) beyond[z] += std::abs(draw) > z * 25 ? 1 : 0;
    }
  }
  for (const int z : {3, 4, 5}) {
    double mass = 0;
    for (std::int64_t k = z * 25 + 1; k < 400; ++k) mass += 2 * ComputeLatticeGaussianProbability(scale, k);
    const boost::math::poisson count(mass * kRounds * 1e6);
    EXPECT_GE(beyond[z], boost::math::quantile(count, kFalseAlarm / 6)) << z;
    EXPECT_LE(beyond[z], boost::math::quantile(boost::math::complement(count, kFalseAlarm / 6))) << z;
  }
}

class LatticeNormalFit : public ::testing::Test {
 protected:
  static constexpr std::size_t kDraws = 4'000'000;
  LatticeNormalFit() : draws_(kDraws) {
    FillLatticeNormal(NoiseKey::FromSeed(31, TrialId(3)), {0, Purpose::gradient}, 0, 0x1p30, draws_);
    for (double& draw : draws_) draw *= 0x1p-30;
  }
  std::vector<double> draws_;
};

TEST_F(LatticeNormalFit, FirstFourMomentsAreThoseOfTheNormal) {
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  for (const double x : draws_) {
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
  }
  const double n = kDraws, bound = 5.2;  // standard errors; two-sided 2e-7 each
  EXPECT_LT(std::abs(m1 / std::sqrt(n)), bound);
  EXPECT_LT(std::abs((m2 - n) / std::sqrt(2 * n)), bound);
  EXPECT_LT(std::abs(m3 / std::sqrt(15 * n)), bound);
  EXPECT_LT(std::abs((m4 - 3 * n) / std::sqrt(96 * n)), bound);
}

TEST_F(LatticeNormalFit, KolmogorovDistanceIsThatOfTheNormal) {
  std::sort(draws_.begin(), draws_.end());
  double distance = 0;
  for (std::size_t i = 0; i < kDraws; ++i) {
    const double cdf = 0.5 * std::erfc(-draws_[i] / 1.4142135623730951);
    distance = std::max({distance, std::abs(cdf - static_cast<double>(i) / kDraws),
                         std::abs(cdf - static_cast<double>(i + 1) / kDraws)});
  }
  // P[sqrt(n) D > x] <= 2 exp(-2 x^2) = 1e-6 at x = 2.69.
  EXPECT_LT(distance * std::sqrt(static_cast<double>(kDraws)), 2.69);
}

TEST_F(LatticeNormalFit, TailsBeyondFourAndFiveHoldTheirMass) {
  for (const double z : {4.0, 5.0}) {
    const auto seen =
        static_cast<double>(std::count_if(draws_.begin(), draws_.end(), [&](double x) { return std::abs(x) > z; }));
    const boost::math::poisson count(std::erfc(z / 1.4142135623730951) * kDraws);
    EXPECT_GE(seen, boost::math::quantile(count, kFalseAlarm / 4)) << z;
    EXPECT_LE(seen, boost::math::quantile(boost::math::complement(count, kFalseAlarm / 4))) << z;
  }
}

}  // namespace
}  // namespace retort::worker::noise
