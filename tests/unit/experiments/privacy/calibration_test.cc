#include "experiments/privacy/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "experiments/methods/canonical_encoding.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;

double ClaimedEpsilon(const TrialSpec& spec, Adjacency adjacency, Neighbour neighbour) {
  const std::vector<Claim> claims = PlannedClaims(spec);
  return Find(claims, adjacency, neighbour)->epsilon;
}

void ExpectMet(TrialSpec spec, Adjacency adjacency, Neighbour neighbour, double ReleaseValues::*noise) {
  const double epsilon = spec.privacy.epsilon;
  const Status status = CalibrateTrial(spec);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_LE(ClaimedEpsilon(spec, adjacency, neighbour), epsilon);
  spec.release.*noise *= 0.999;
  EXPECT_GT(ClaimedEpsilon(spec, adjacency, neighbour), epsilon - 0.001);
  spec.release.*noise *= 0.99;
  EXPECT_GT(ClaimedEpsilon(spec, adjacency, neighbour), epsilon);
}

TEST(Calibration, NoiseMeetsTheClaimAndHardlyMore) {
  for (const Reading reading : {Reading::working, Reading::stated, Reading::row_averaged, Reading::printed}) {
    for (const Normalization normalization : {Normalization::row, Normalization::frobenius}) {
      for (const double epsilon : {1.0, 3.0, 10.0}) {
        TrialSpec spec = GradientStudent(reading);
        spec.release.normalization = normalization;
        ExpectMet(Calibrated(spec, ClaimTarget::teacher, epsilon), Adjacency::teacher, Neighbour::replace,
                  &ReleaseValues::sigma);
        ExpectMet(Calibrated(spec, ClaimTarget::slot, epsilon), Adjacency::slot, Neighbour::answer,
                  &ReleaseValues::sigma);
        ExpectMet(Calibrated(spec, ClaimTarget::answer, epsilon), Adjacency::answer, Neighbour::answer,
                  &ReleaseValues::sigma);
        ExpectMet(Calibrated(spec, ClaimTarget::example, epsilon), Adjacency::example, Neighbour::replace,
                  &ReleaseValues::sigma);
      }
    }
  }
}

TEST(Calibration, NoiseOfDpGdIsTheRootOfItsStepsOverMu) {
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    ExpectMet(Calibrated(DpGd(Role::student), ClaimTarget::example, epsilon), Adjacency::example, Neighbour::add_remove,
              &ReleaseValues::noise_multiplier);
    TrialSpec spec = Calibrated(DpGd(Role::teacher), ClaimTarget::example, epsilon);
    ASSERT_TRUE(CalibrateTrial(spec).ok());
    const double exact = std::sqrt(80.0) / ComputeGaussianMu(epsilon, spec.privacy.delta);
    EXPECT_GE(spec.release.noise_multiplier, exact);
    EXPECT_LT(spec.release.noise_multiplier, 1.01 * exact);
  }
}

TEST(Calibration, StepsOfDpGdSpendTheBudgetAndNoMore) {
  TrialSpec spec = Calibrated(DpGd(Role::student), ClaimTarget::example, 3, Calibrate::steps);
  spec.release.noise_multiplier = 20;
  ASSERT_TRUE(CalibrateTrial(spec).ok()) << CalibrateTrial(spec).message();
  EXPECT_LE(ClaimedEpsilon(spec, Adjacency::example, Neighbour::add_remove), 3);
  ++spec.steps;
  EXPECT_GT(ClaimedEpsilon(spec, Adjacency::example, Neighbour::add_remove), 3);
  spec.release.noise_multiplier = 0;
  EXPECT_EQ(CalibrateTrial(spec).code(), StatusCode::usage);
}

TEST(Calibration, NoiseFollowsTheContractsTable) {
  const double mu = 0.26805;  // mu(1) at delta = 1e-5
  const double B = 256, T = 160;
  const auto sigma = [](Reading reading, ClaimTarget claim) {
    TrialSpec spec = Calibrated(GradientStudent(reading), claim, 1);
    EXPECT_TRUE(CalibrateTrial(spec).ok());
    return spec.release.sigma;
  };
  EXPECT_NEAR(sigma(Reading::row_averaged, ClaimTarget::teacher), 2 * std::sqrt(B * T) / mu, 1);
  EXPECT_NEAR(sigma(Reading::working, ClaimTarget::teacher), 2 * B * std::sqrt(B * T) / mu, 10);
  EXPECT_NEAR(sigma(Reading::stated, ClaimTarget::teacher), 2 * B * std::sqrt(B * T) / mu, 10);
  EXPECT_NEAR(sigma(Reading::printed, ClaimTarget::teacher), 2 * B * std::sqrt(T) / mu, 1);
  EXPECT_NEAR(sigma(Reading::row_averaged, ClaimTarget::slot), 2 * std::sqrt(T) / mu, 0.01);
  EXPECT_NEAR(sigma(Reading::working, ClaimTarget::slot), 2 * B * std::sqrt(T) / mu, 1);
}

TEST(Calibration, VotesAtQuickstartSettings) {
  TrialSpec spec = Calibrated(VoteStudent(), ClaimTarget::example, 3);
  ASSERT_TRUE(CalibrateTrial(spec).ok());
  EXPECT_NEAR(spec.release.vote_noise, 34.0624, 1e-3);
  EXPECT_DOUBLE_EQ(ClaimedEpsilon(spec, Adjacency::example, Neighbour::replace), 3);
  TrialSpec many = Calibrated(VoteStudent(), ClaimTarget::member, 1);
  many.queries = 51200;
  ASSERT_TRUE(CalibrateTrial(many).ok());
  EXPECT_NEAR(many.release.vote_noise, 1194, 1);
}

TEST(Calibration, DpSgdAtQuickstartSettings) {
  for (const Role role : {Role::teacher, Role::student}) {
    TrialSpec spec = Calibrated(DpSgd(role), ClaimTarget::example, 3);
    ASSERT_TRUE(CalibrateTrial(spec).ok());
    EXPECT_NEAR(spec.release.noise_multiplier, 1.8686, 1e-4);
    EXPECT_LE(ClaimedEpsilon(spec, Adjacency::example, Neighbour::add_remove), 3);
    EXPECT_EQ(spec.release.norm_bound, 0.1);
  }
}

TEST(Calibration, StepsSpendTheBudgetAndNotOneMore) {
  TrialSpec spec = Calibrated(GradientStudent(Reading::row_averaged), ClaimTarget::teacher, 3, Calibrate::steps);
  spec.release.sigma = 1000;
  ASSERT_TRUE(CalibrateTrial(spec).ok());
  EXPECT_LE(ClaimedEpsilon(spec, Adjacency::teacher, Neighbour::replace), 3);
  ++spec.steps;
  EXPECT_GT(ClaimedEpsilon(spec, Adjacency::teacher, Neighbour::replace), 3);

  TrialSpec votes = Calibrated(VoteStudent(), ClaimTarget::member, 2, Calibrate::steps);
  ASSERT_TRUE(CalibrateTrial(votes).ok());
  EXPECT_LE(ClaimedEpsilon(votes, Adjacency::member, Neighbour::replace), 2);
  ++votes.queries;
  EXPECT_GT(ClaimedEpsilon(votes, Adjacency::member, Neighbour::replace), 2);

  TrialSpec training = Calibrated(DpSgd(Role::student), ClaimTarget::example, 3, Calibrate::steps);
  ASSERT_TRUE(CalibrateTrial(training).ok());
  EXPECT_LE(ClaimedEpsilon(training, Adjacency::example, Neighbour::add_remove), 3);
  ++training.steps;
  EXPECT_GT(ClaimedEpsilon(training, Adjacency::example, Neighbour::add_remove), 3);
}

TEST(Calibration, PaperFormulaBuysItsPublishedAbsurdities) {
  TrialSpec spec = Calibrated(GradientStudent(Reading::working), ClaimTarget::paper, 1, Calibrate::steps);
  ASSERT_TRUE(CalibrateTrial(spec).ok());
  EXPECT_NEAR(static_cast<double>(spec.steps), 59681, 1);
  EXPECT_EQ(spec.release.norm_bound, 1e-3);
  TrialSpec noise = Calibrated(GradientStudent(Reading::working), ClaimTarget::paper, 1);
  ASSERT_TRUE(CalibrateTrial(noise).ok());
  EXPECT_DOUBLE_EQ(FindPaper(PlannedClaims(noise))->epsilon, 1);
}

TEST(Calibration, NoneLeavesTheTrialAlone) {
  TrialSpec spec = GradientStudent(Reading::working);
  spec.privacy.claim = ClaimTarget::teacher;
  spec.privacy.epsilon = 1;
  ASSERT_TRUE(CalibrateTrial(spec).ok());
  EXPECT_EQ(spec.release.sigma, 100);
}

TEST(Calibration, SeededRunsGetTheNoiseOfSecureOnes) {
  TrialSpec secure = Calibrated(VoteStudent(), ClaimTarget::example, 3);
  TrialSpec seeded = secure;
  seeded.noise = NoiseMode::seeded;
  ASSERT_TRUE(CalibrateTrial(secure).ok());
  ASSERT_TRUE(CalibrateTrial(seeded).ok());
  EXPECT_EQ(seeded.release.vote_noise, secure.release.vote_noise);
}

std::string Refusal(TrialSpec spec) {
  const TrialSpec before = spec;
  const Status status = CalibrateTrial(spec);
  EXPECT_EQ(status.code(), StatusCode::usage);
  EXPECT_EQ(spec.release.sigma, before.release.sigma);
  EXPECT_EQ(spec.steps, before.steps);
  return status.message();
}

TEST(Calibration, WhatDoesNotApplyIsRefusedWithTheReason) {
  const TrialSpec working = GradientStudent(Reading::working);
  EXPECT_THAT(Refusal(Calibrated(working, ClaimTarget::none, 1)), HasSubstr("needs claim"));
  EXPECT_THAT(Refusal(Calibrated(working, ClaimTarget::teacher, 0)), HasSubstr("epsilon above 0"));
  EXPECT_THAT(Refusal(Calibrated(working, ClaimTarget::teacher, std::nan(""))), HasSubstr("epsilon above 0"));
  EXPECT_THAT(Refusal(Calibrated(working, ClaimTarget::member, 1)), HasSubstr("ensemble"));
  EXPECT_THAT(Refusal(Calibrated(working, ClaimTarget::answer, 1, Calibrate::steps)), HasSubstr("one answer"));
  EXPECT_THAT(Refusal(Calibrated(VoteStudent(), ClaimTarget::teacher, 1)), HasSubstr("noisy votes"));
  EXPECT_THAT(Refusal(Calibrated(VoteStudent(), ClaimTarget::paper, 1)), HasSubstr("noisy gradients"));
  EXPECT_THAT(Refusal(Calibrated(GradientStudent(Reading::sound), ClaimTarget::example, 1)),
              HasSubstr("its teacher's"));
  EXPECT_THAT(Refusal(Calibrated(Teacher("plain"), ClaimTarget::example, 1)), HasSubstr("without noise"));
  EXPECT_THAT(Refusal(Calibrated(DpSgd(Role::student), ClaimTarget::teacher, 1)), HasSubstr("example"));
  TrialSpec undetached = Calibrated(working, ClaimTarget::teacher, 1);
  undetached.release.detach = false;
  EXPECT_THAT(Refusal(undetached), HasSubstr("not detached"));
  TrialSpec large = Calibrated(DpSgd(Role::student), ClaimTarget::example, 3);
  large.batch = 9000;
  EXPECT_THAT(Refusal(large), HasSubstr("private training split"));
  TrialSpec quiet = Calibrated(working, ClaimTarget::teacher, 1, Calibrate::steps);
  EXPECT_THAT(Refusal(quiet), HasSubstr("costs more"));
  TrialSpec delta = Calibrated(working, ClaimTarget::teacher, 1);
  delta.privacy.delta = 0;
  EXPECT_THAT(Refusal(delta), HasSubstr("delta"));
}

TEST(Calibration, NoiseThatTheSamplerCannotDrawAtThisGrainIsRefused) {
  TrialSpec votes = Calibrated(VoteStudent(), ClaimTarget::member, 0.01, Calibrate::noise);
  votes.queries = 100;
  ASSERT_TRUE(CalibrateTrial(votes).ok());
  ASSERT_GT(votes.release.vote_noise * 1024, 1048576);
  votes.release.grain = 1024;
  EXPECT_THAT(Refusal(votes), HasSubstr("lower grain"));
}

TEST(Calibration, LessNoiseThanTheSamplerDrawsIsRefused) {
  TrialSpec votes = Calibrated(VoteStudent(), ClaimTarget::member, 1e6, Calibrate::noise);
  votes.queries = 1;
  EXPECT_THAT(Refusal(votes), HasSubstr("lower epsilon"));
  votes.release.grain = 16;
  EXPECT_THAT(Refusal(votes), HasSubstr("ends")) << "in parts of a vote it can be drawn, and has no bound";
}

TEST(Calibration, TrialsAreSolvedOncePerEpsilon) {
  Calibrator calibrator;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100'000; ++i) {
    TrialSpec spec = i % 2 == 0 ? DpSgd(Role::student) : VoteStudent();
    spec.seed = static_cast<std::uint64_t>(i);
    spec = Calibrated(std::move(spec), ClaimTarget::example, 1 + i % 4);
    ASSERT_TRUE(calibrator.Calibrate(spec).ok());
  }
  EXPECT_EQ(calibrator.solved(), 4U);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5);
}

// Bit for bit what each is solved for by itself.
TEST(Calibration, NormBoundsShareTheSearchForNoise) {
  Calibrator calibrator;
  std::size_t trials = 0;
  for (const std::int64_t steps : {40, 90})
    for (const double norm_bound : {0.1, 0.3, 1.0 / 3, 0.7, 1.0, 2.9, 1e-7, 1e7}) {
      TrialSpec spec = Calibrated(DpSgd(Role::student), ClaimTarget::example, 3);
      spec.steps = steps;
      spec.release.norm_bound = norm_bound;
      TrialSpec alone = spec;
      ASSERT_TRUE(calibrator.Calibrate(spec).ok());
      ASSERT_TRUE(CalibrateTrial(alone).ok());
      EXPECT_EQ(spec.release.noise_multiplier, alone.release.noise_multiplier) << norm_bound;
      EXPECT_EQ(ComputeTrialId(spec), ComputeTrialId(alone));
      EXPECT_EQ(calibrator.solved(), ++trials);
    }
  EXPECT_EQ(calibrator.searched(), 2U);
}

// The claims when `lost` attempts each lose a whole block.
double ClaimedAfterLosing(const TrialSpec& spec, std::int64_t lost, Neighbour neighbour) {
  TrialSpec unlucky = spec;
  unlucky.execution.retries = lost;
  const std::vector<Claim> claims = ComputeClaims({&spec, {}}, PlanEventsWithRetries(unlucky).value());
  return Find(claims, Adjacency::example, neighbour)->epsilon;
}

TEST(Calibration, RoomForRetriesHoldsThatManyLostBlocksAndNoMore) {
  for (TrialSpec spec :
       {GradientStudent(Reading::working), GradientStudent(Reading::printed), VoteStudent(), DpSgd(Role::student)}) {
    const bool dpsgd = spec.method == "dpsgd";
    for (const Calibrate what : {Calibrate::noise, Calibrate::steps}) {
      TrialSpec asked = Calibrated(spec, ClaimTarget::example, what == Calibrate::steps && !dpsgd ? 400 : 3, what);
      asked.execution.reserve_block = 8;
      if (what == Calibrate::steps && !dpsgd) {
        asked.release.sigma = asked.reading == Reading::working ? 1e5 : 400;
        asked.release.vote_noise = 5;
      }
      asked.execution.retries = 2;
      ASSERT_TRUE(CalibrateTrial(asked).ok());
      const Neighbour neighbour = dpsgd ? Neighbour::add_remove : Neighbour::replace;
      EXPECT_LT(ClaimedAfterLosing(asked, 0, neighbour), asked.privacy.epsilon);
      EXPECT_LE(ClaimedAfterLosing(asked, 2, neighbour), asked.privacy.epsilon);
      EXPECT_GT(ClaimedAfterLosing(asked, 4, neighbour), asked.privacy.epsilon);
    }
  }
}

TEST(Calibration, WithoutRoomForRetriesALostBlockShows) {
  TrialSpec spec = Calibrated(VoteStudent(), ClaimTarget::example, 3);
  ASSERT_TRUE(CalibrateTrial(spec).ok());
  EXPECT_LE(ClaimedAfterLosing(spec, 0, Neighbour::replace), 3);
  EXPECT_GT(ClaimedAfterLosing(spec, 1, Neighbour::replace), 3);
}

TEST(Calibration, RoomForRetriesNeverExceedsWhatThePlanDraws) {
  TrialSpec spec = VoteStudent();
  spec.execution.retries = 3;
  spec.execution.reserve_block = 1'000'000'000;
  EXPECT_EQ(PlanEventsWithRetries(spec)->front().count, 4 * spec.queries);
  spec.execution.retries = 0;
  EXPECT_EQ(PlanEventsWithRetries(spec)->front().count, spec.queries);
}

}  // namespace
}  // namespace retort::privacy
