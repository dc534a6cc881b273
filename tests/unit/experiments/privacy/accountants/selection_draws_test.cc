// How many candidates are drawn: what comes out has the distribution that the bounds are of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "experiments/privacy/accountants/selection_draws.h"
#include "tests/unit/experiments/privacy/accountants/exact_selection.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;

BitSource SeededBits(unsigned seed) {
  return [random = std::mt19937_64(seed)]() mutable { return random(); };
}

// P[K = k] by the definition, in logarithms of gamma functions.
double Mass(const DrawLaw& law, double k) {
  if (law.family == DrawFamily::poisson) return std::exp(k * std::log(law.mean) - law.mean - std::lgamma(k + 1));
  if (k < 1) return 0;
  const double keep = k * std::log1p(-law.gamma);
  if (law.eta == 0) return std::exp(keep) / (k * std::log(1 / law.gamma));
  const double sign = law.eta > 0 ? 1 : -1;
  const double product = std::lgamma(k + law.eta) - std::lgamma(1 + law.eta) - std::lgamma(k + 1);
  return std::exp(keep + product) * law.eta * sign / (sign * (std::pow(law.gamma, -law.eta) - 1));
}

std::vector<DrawLaw> DrawnLaws() {
  return {MakePoissonDraws(0.3).value(),
          MakePoissonDraws(10).value(),
          MakePoissonDraws(200).value(),
          MakeNegativeBinomialDraws(1, 0.1).value(),
          MakeNegativeBinomialDraws(0, 0.05).value(),
          MakeNegativeBinomialDraws(-0.7, 0.01).value(),
          MakeNegativeBinomialDraws(3, 0.4).value()};
}

TEST(SelectionDraws, MeansAreThoseOfTheDistribution) {
  for (const DrawLaw& law : DrawnLaws()) {
    double sum = 0, mean = 0;
    for (double k = 0; k < 20'000; ++k) {
      sum += Mass(law, k);
      mean += k * Mass(law, k);
    }
    EXPECT_NEAR(sum, 1, 1e-9) << DescribeDraws(law);
    EXPECT_NEAR(mean, law.mean, 1e-8 * law.mean) << DescribeDraws(law);
  }
}

TEST(SelectionDraws, GammaIsSolvedForAMean) {
  for (const double eta : {-0.9, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0, 7.0, 1e5})
    for (const double mean : {1.0001, 2.0, 10.0, 1000.0}) {
      const Result<DrawLaw> law = SolveNegativeBinomialDraws(eta, mean);
      if (!law.ok()) {
        EXPECT_THAT(law.status().message(), HasSubstr("no practical end")) << eta << " " << mean;
        EXPECT_EQ(eta, -0.9);
        continue;
      }
      EXPECT_GE(law->mean, mean) << eta;
      EXPECT_NEAR(law->mean, mean, 1e-8 * mean) << eta;
    }
  EXPECT_NEAR(SolveNegativeBinomialDraws(1, 10)->gamma, 0.1, 1e-12);
}

TEST(SelectionDraws, WhatIsOutOfRangeIsNamed) {
  const double nan = std::nan("");
  for (const double mean : {0.0, -1.0, 1e7, nan})
    EXPECT_THAT(MakePoissonDraws(mean).status().message(), HasSubstr("mean of Poisson")) << mean;
  for (const double eta : {-1.0, -2.0, nan, 1e7})
    EXPECT_THAT(MakeNegativeBinomialDraws(eta, 0.5).status().message(), HasSubstr("eta")) << eta;
  for (const double gamma : {0.0, 1.0, -0.1, 1.5, nan})
    EXPECT_THAT(MakeNegativeBinomialDraws(1, gamma).status().message(), HasSubstr("gamma must lie")) << gamma;
  for (const double mean : {0.5, 1.0, nan, 1e9})
    EXPECT_THAT(SolveNegativeBinomialDraws(1, mean).status().message(), HasSubstr("above 1")) << mean;
  EXPECT_THAT(MakeNegativeBinomialDraws(1, 1e-13).status().message(), HasSubstr("practical end"));
}

// Chi squared over the values that are expected ten times and more, at six deviations.
TEST(SelectionDraws, DrawnCountsFollowTheDistribution) {
  constexpr int kDraws = 4000;
  unsigned seed = 1;
  for (const DrawLaw& law : DrawnLaws()) {
    const BitSource bits = SeededBits(seed++);
    std::map<std::int64_t, int> seen;
    for (int i = 0; i < kDraws; ++i) ++seen[DrawCandidateCount(law, bits)];
    double chi = 0, expected_rest = kDraws, seen_rest = kDraws;
    int cells = 0;
    for (std::int64_t k = 0; k < 2000; ++k) {
      const double expected = kDraws * Mass(law, static_cast<double>(k));
      if (expected < 10) continue;
      chi += (seen[k] - expected) * (seen[k] - expected) / expected;
      expected_rest -= expected;
      seen_rest -= seen[k];
      ++cells;
    }
    if (expected_rest >= 10) chi += (seen_rest - expected_rest) * (seen_rest - expected_rest) / expected_rest;
    EXPECT_LT(std::abs(chi - cells) / std::sqrt(2.0 * cells), 6) << DescribeDraws(law);
  }
}

TEST(SelectionDraws, BoundariesAreThoseOfTheDistributionFunction) {
  // Geometric with gamma 1/2: K is the place of the first binary zero, whatever follows.
  const DrawLaw law = MakeNegativeBinomialDraws(1, 0.5).value();
  const auto drawn = [&](std::vector<std::uint64_t> words) {
    std::size_t next = 0;
    return DrawCandidateCount(law, [&words, next]() mutable { return next < words.size() ? words[next++] : 12345U; });
  };
  EXPECT_EQ(drawn({0}), 1);
  EXPECT_EQ(drawn({~0ULL >> 1U}), 1);
  EXPECT_EQ(drawn({1ULL << 63U}), 2);
  EXPECT_EQ(drawn({~0ULL}), 65 + 0);
  EXPECT_EQ(drawn({~0ULL, 1ULL << 63U}), 66);
  // So near to a boundary that 320 bits do not tell: more are taken.
  EXPECT_EQ(drawn({1ULL << 63U, 0, 0, 0, 0, 1}), 2);
  EXPECT_EQ(drawn({~0ULL >> 1U, ~0ULL, ~0ULL, ~0ULL, ~0ULL, 5}), 1);
}

TEST(SelectionDraws, ReachIsWhereTheTailEnds) {
  for (const DrawLaw& law : DrawnLaws())
    for (const double probability : {0.3, 1e-3, 1e-9}) {
      const std::int64_t reach = ComputeReach(law, probability);
      double above = 0;
      for (std::int64_t k = 20'000; k > reach; --k) above += Mass(law, static_cast<double>(k));
      EXPECT_LE(above, probability * (1 + 1e-6)) << DescribeDraws(law);
      EXPECT_GT(above + Mass(law, static_cast<double>(reach)), probability * (1 - 1e-6)) << DescribeDraws(law);
    }
}

TEST(SelectionDraws, TailBeyondTheMostIsBounded) {
  EXPECT_LT(ComputeLogTail(MakeNegativeBinomialDraws(1, 0.001).value()), -9000);
  EXPECT_LT(ComputeLogTail(MakePoissonDraws(1000).value()), -1e7);
  // (1 - gamma)^(10^7) of the geometric.
  const double exact = 1e7 * std::log1p(-1e-5);
  EXPECT_GE(ComputeLogTail(MakeNegativeBinomialDraws(1, 1e-5).value()), exact);
  EXPECT_LE(ComputeLogTail(MakeNegativeBinomialDraws(1, 1e-5).value()), exact + 1e-4);
  EXPECT_GT(ComputeLogTail(MakeNegativeBinomialDraws(-0.9, 1e-10).value()), -21);
}

TEST(SelectionDraws, CandidatesAreDrawnWithoutBias) {
  const BitSource bits = SeededBits(5);
  std::vector<int> seen(7);
  for (int i = 0; i < 70'000; ++i) ++seen.at(static_cast<std::size_t>(DrawBelow(7, bits)));
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 600);
  // 2^64 is 2 above a multiple of 7: the last two words would favour 0 and 1.
  std::vector<std::uint64_t> words = {3, ~0ULL - 1, ~0ULL};
  EXPECT_EQ(DrawBelow(7,
                      [&] {
                        const std::uint64_t word = words.back();
                        words.pop_back();
                        return word;
                      }),
            3);
  EXPECT_EQ(DrawBelow(1, bits), 0);
}

TEST(SelectionDraws, SystemEntropyDiffersFromCallToCall) {
  const DrawLaw law = MakePoissonDraws(1e4).value();
  EXPECT_NE(DrawCandidateCount(law, DrawSystemBits) * 100'000 + DrawCandidateCount(law, DrawSystemBits),
            DrawCandidateCount(law, DrawSystemBits) * 100'000 + DrawCandidateCount(law, DrawSystemBits));
}

}  // namespace
}  // namespace retort::privacy
