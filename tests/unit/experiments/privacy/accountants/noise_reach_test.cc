// Noise that ends gives away whatever a neighbour cannot reach: that is part of delta.
#include "experiments/privacy/accountants/lattice_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/privacy/accountants/composition.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

PrivacyEvent Rows(double shift, std::int64_t count) {
  PrivacyEvent event = PlanEvents(GradientStudent(Reading::working)).value().front();
  event.count = count;
  event.rows_per_batch = 1;
  event.noise_std = event.sensitivity / shift;
  return event;
}

PrivacyEvent Votes(double scale, std::int64_t queries) {
  PrivacyEvent event = PlanEvents(VoteStudent()).value().front();
  event.count = queries;
  event.sensitivity = std::sqrt(2.0);
  event.noise_std = scale;
  return event;
}

TEST(NoiseReach, MassBeyondANeighboursReachIsTheNormalTail) {
  EXPECT_NEAR(ComputeMissingMass(1, 1, 8.3, kGaussianReach), std::erfc(5 / std::sqrt(2.0)) / 2, 1e-15);
  EXPECT_NEAR(ComputeMissingMass(1000, 1, 8.3, kGaussianReach), 500 * std::erfc(5 / std::sqrt(2.0)), 1e-12);
  EXPECT_LT(ComputeMissingMass(1e6, 1e6, 1, kGaussianReach), 1e-22);
  EXPECT_EQ(ComputeMissingMass(1, 1, 13, kGaussianReach), 1);
  EXPECT_EQ(ComputeMissingMass(1, 1, std::nan(""), kGaussianReach), 1);
}

TEST(NoiseReach, OrdinaryNoiseLosesNothing) {
  const double exact = ComputeGaussianEpsilon(1e-5, 3 * std::sqrt(100.0));
  EXPECT_EQ(ComputeRelationBound(kTeacher, {Rows(3, 100)}, 1e-5, nullptr).epsilon, RoundEpsilonUp(exact));
}

TEST(NoiseReach, WhatDrawsCannotReachIsTakenOffDelta) {
  const double shift = 8;
  const Bound bound = ComputeRelationBound(kAnswer, {Rows(shift, 1)}, 1e-6, nullptr);
  const double missing = ComputeMissingMass(1, 10, shift, kGaussianReach);
  ASSERT_GT(missing, 1e-8);
  EXPECT_GE(bound.epsilon, ComputeGaussianEpsilon(1e-6 - missing, shift));
  EXPECT_GT(bound.epsilon, RoundEpsilonUp(ComputeGaussianEpsilon(1e-6, shift)));
}

TEST(NoiseReach, NoiseThatANeighbourLeavesHasNoBound) {
  for (const double shift : {10.0, 13.4, 100.0, 1e300}) {
    const Bound bound = ComputeRelationBound(kAnswer, {Rows(shift, 1)}, 1e-5, nullptr);
    EXPECT_TRUE(std::isinf(bound.epsilon)) << shift;
    EXPECT_EQ(bound.reason, reason::kNoiseEnds) << shift;
  }
  // Many draws add up.
  EXPECT_TRUE(std::isfinite(ComputeRelationBound(kTeacher, {Rows(8, 1)}, 1e-5, nullptr).epsilon));
  EXPECT_TRUE(std::isinf(ComputeRelationBound(kTeacher, {Rows(8, 1000)}, 1e-5, nullptr).epsilon));
}

TEST(NoiseReach, VotesWithLessThanATenthOfAVoteOfNoiseHaveNoBound) {
  EXPECT_TRUE(std::isfinite(ComputeRelationBound(kMember, {Votes(0.5, 1000)}, 1e-5, nullptr).epsilon));
  for (const double scale : {0.1, 1.0 / 64})
    EXPECT_EQ(ComputeRelationBound(kMember, {Votes(scale, 1)}, 1e-5, nullptr).reason, reason::kNoiseEnds) << scale;
}

TEST(NoiseReach, StepsWithLittleNoiseHaveNoBound) {
  TrialSpec spec = DpSgd(Role::student);
  for (const double multiplier : {0.05, 0.1, 0.5, 1.0}) {
    spec.release.noise_multiplier = multiplier;
    const std::vector<Claim> claims = PlannedClaims(spec);
    const Claim* added = Find(claims, Adjacency::example, Neighbour::add_remove);
    ASSERT_NE(added, nullptr);
    EXPECT_EQ(std::isfinite(added->epsilon), multiplier > 0.2) << multiplier;
  }
}

TEST(NoiseReach, BudgetCountsItToo) {
  std::vector<PrivacyEvent> events = PlanEvents(VoteStudent()).value();
  events.front().noise_std = 0.1;
  EXPECT_TRUE(std::isinf(ComputeTotalEpsilon({events}, 1e-5)));
  EXPECT_TRUE(FindTotalAboveBudget({events}, {1e6, 1e-5}).has_value());
}

}  // namespace
}  // namespace retort::privacy
