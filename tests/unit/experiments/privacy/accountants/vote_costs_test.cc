// The cost of votes beside the mechanism itself, whose outcomes are few enough to be added up.
#include "experiments/privacy/accountants/vote_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace retort::privacy {
namespace {

constexpr std::int64_t kMembers = 14, kVoteClasses = 3;
using Histogram = std::array<int, kVoteClasses>;

double Below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// P[round(N(0, s^2)) = k].
double Drawn(int k, double s) { return Below((k + 0.5) / s) - Below((k - 0.5) / s); }

// Outcomes of one query: nothing, or a class; of equal counts the first.
std::array<double, kVoteClasses + 1> Outcomes(const Histogram& votes, const VoteCostRule& rule) {
  std::array<double, kVoteClasses + 1> chance = {};
  const int largest = *std::max_element(votes.begin(), votes.end());
  const double passes = Below((largest - static_cast<double>(rule.threshold) + 0.5) / rule.threshold_noise);
  chance[kVoteClasses] = Below((static_cast<double>(rule.threshold) - 0.5 - largest) / rule.threshold_noise);
  const int reach = static_cast<int>(8 * rule.vote_noise) + 2;
  for (std::size_t winner = 0; winner < kVoteClasses; ++winner) {
    for (int noise = -reach; noise <= reach; ++noise) {
      double joint = Drawn(noise, rule.vote_noise);
      const int count = votes[winner] + noise;
      for (std::size_t other = 0; other < kVoteClasses; ++other) {
        if (other == winner) continue;
        const int least = count - votes[other] - (other < winner ? 1 : 0);  // that the other may draw at most
        joint *= Below((least + 0.5) / rule.vote_noise);
      }
      chance[winner] += passes * joint;
    }
  }
  return chance;
}

double Renyi(const std::array<double, kVoteClasses + 1>& p, const std::array<double, kVoteClasses + 1>& q,
             double order) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i] > 0) sum += std::pow(p[i] / q[i], order - 1) * p[i];
  return std::log(sum) / (order - 1);
}

Consensus Of(Histogram votes) {
  std::sort(votes.begin(), votes.end(), std::greater<>());
  return {votes[0], votes[0] - votes[1]};
}

std::vector<Histogram> AllHistograms() {
  std::vector<Histogram> all;
  for (int a = 0; a <= kMembers; ++a)
    for (int b = 0; a + b <= kMembers; ++b) all.push_back({a, b, static_cast<int>(kMembers) - a - b});
  return all;
}

std::vector<Histogram> Neighbours(const Histogram& votes) {
  std::vector<Histogram> all;
  for (std::size_t from = 0; from < kVoteClasses; ++from) {
    if (votes[from] == 0) continue;
    Histogram silent = votes;
    --silent[from];
    all.push_back(silent);
    for (std::size_t to = 0; to < kVoteClasses; ++to) {
      if (to == from) continue;
      Histogram moved = silent;
      ++moved[to];
      all.push_back(moved);
    }
  }
  return all;
}

VoteCostRule Rule(double threshold_noise, double vote_noise, double order) {
  return {kMembers, kVoteClasses, 10, threshold_noise, vote_noise, order};
}

TEST(VoteCosts, AreNoLessThanTheOutcomesTell) {
  double tightest = 1e9;
  for (const auto& [threshold_noise, vote_noise, order] :
       {std::array{2.0, 1.5, 3.0}, std::array{1.0, 1.0, 2.0}, std::array{3.0, 2.0, 6.0}}) {
    const VoteCostRule rule = Rule(threshold_noise, vote_noise, order);
    const VoteCosts costs = VoteCosts::Create(rule).value();
    for (const Histogram& votes : AllHistograms()) {
      const double cost = costs.Find(Of(votes));
      for (const Histogram& other : Neighbours(votes)) {
        const double told = Renyi(Outcomes(votes, rule), Outcomes(other, rule), order);
        ASSERT_LE(told, cost) << votes[0] << " " << votes[1] << " " << votes[2] << " order " << order;
        if (told > 1e-3) tightest = std::min(tightest, cost / told);
      }
    }
  }
  EXPECT_LT(tightest, 1.5) << "the test has lost its power";
}

// A vote that rounding and ties take from a lead is counted: without it the bound would be too low.
TEST(VoteCosts, MissesAreNoRarerThanRoundingMakesThem) {
  const double noise = 0.5;
  for (int gap = 1; gap <= 4; ++gap) {
    // The class that comes first has `gap` votes less, and wins where both are equal.
    double missed = 0;
    for (int a = -6; a <= 6; ++a)
      for (int b = -6; b <= 6; ++b)
        if (a >= b + gap) missed += Drawn(a, noise) * Drawn(b, noise);
    EXPECT_GE(ComputeLogMiss(gap, 2, noise), std::log(missed)) << gap;
    const double smooth = std::log(Below(-gap / (noise * std::numbers::sqrt2)));
    if (gap > 1) continue;
    EXPECT_GT(std::log(missed), smooth) << "ties cost nothing here, and the test says nothing";
  }
}

TEST(VoteCosts, NeverRiseWithTheLead) {
  const VoteCosts costs = VoteCosts::Create({250, 10, 200, 150, 40, 8}).value();
  for (std::int64_t largest = 0; largest <= 250; largest += 25)
    for (std::int64_t gap = 1; gap <= largest; ++gap)
      ASSERT_LE(costs.Find({largest, gap}), costs.Find({largest, gap - 1})) << largest << " " << gap;
  EXPECT_TRUE(std::isinf(costs.Find({251, 0})));
  EXPECT_TRUE(std::isinf(costs.Find({10, 11})));
}

TEST(VoteCosts, AnyVotesCostNoMoreThanTwoGaussians) {
  const double order = 8, s1 = 150, s2 = 40;
  const VoteCosts costs = VoteCosts::Create({250, 10, 200, s1, s2, order}).value();
  const double both = order / (2 * s1 * s1) + order / (s2 * s2);
  for (std::int64_t largest = 0; largest <= 250; ++largest)
    for (std::int64_t gap = 0; gap <= largest; gap += 7) ASSERT_LE(costs.Find({largest, gap}), both * (1 + 1e-6));
}

TEST(VoteCosts, SensitivityBoundsEveryNeighbourAndIsSmooth) {
  const double smoothness = 0.05;
  const VoteCosts costs = VoteCosts::Create(Rule(2, 1.5, 3)).value();
  std::mt19937 random(7);
  const std::vector<Histogram> all = AllHistograms();
  double closest = 1e9;
  for (int round = 0; round < 300; ++round) {
    std::vector<Consensus> one, other;
    for (int query = 0; query < 4; ++query) {
      const Histogram& votes = all[random() % all.size()];
      const std::vector<Histogram> near = Neighbours(votes);
      one.push_back(Of(votes));
      other.push_back(Of(near[random() % near.size()]));
    }
    const double change = std::abs(costs.Sum(one) - costs.Sum(other));
    const double here = costs.SmoothSensitivity(one, smoothness, 1e-9);
    const double there = costs.SmoothSensitivity(other, smoothness, 1e-9);
    ASSERT_LE(change, std::min(here, there));
    ASSERT_LE(std::abs(std::log(here / there)), smoothness * (1 + 1e-6));
    closest = std::min(closest, here / std::max(change, 1e-9));
  }
  EXPECT_LT(closest, 4) << "the sensitivity says nothing";
}

// exp((order - 1) D) of N(0, a^2) and N(shift, b^2), by the trapezoid rule.
double NormalRenyi(double a, double b, double shift, double order) {
  double sum = 0;
  const double step = 1e-3 * std::min(a, b);
  for (double x = -60 * std::max(a, b); x < 60 * std::max(a, b); x += step) {
    const double p = -x * x / (2 * a * a) - std::log(a), q = -(x - shift) * (x - shift) / (2 * b * b) - std::log(b);
    sum += std::exp(order * p + (1 - order) * q) * step / std::sqrt(2 * std::numbers::pi);
  }
  return std::log(sum) / (order - 1);
}

TEST(SmoothGaussian, IsNoLessThanTwoNormalsTell) {
  const double order = 4, smoothness = 0.05, noise = 3, moved = 1.5;
  const double bound = SmoothGaussianRdp(order, smoothness, noise, moved);
  double most = 0;
  for (const double ratio : {std::exp(-smoothness), 1.0, std::exp(smoothness)})
    most = std::max(most, NormalRenyi(noise * ratio, noise, moved * std::min(ratio, 1.0), order));
  EXPECT_LE(most, bound);
  EXPECT_GE(most, 0.9 * bound);
  EXPECT_TRUE(std::isinf(SmoothGaussianRdp(12, 0.05, noise, moved))) << "no finite bound at this order";
  EXPECT_TRUE(std::isinf(SmoothGaussianRdp(1, 0.05, noise, moved)));
  EXPECT_TRUE(std::isinf(SmoothGaussianRdp(4, std::nan(""), noise, moved)));
}

}  // namespace
}  // namespace retort::privacy
