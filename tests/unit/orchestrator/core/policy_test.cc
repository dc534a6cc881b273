// Retry policy, step watch, charge book, budget: the small pure rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/relation.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/core/step_watch.h"
#include "orchestrator/reactor/attempt_failure.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;

TEST(RetryPolicy, StopsAtTheCapOfEachKind) {
  for (const FailureKind kind :
       {FailureKind::worker_crash, FailureKind::worker_hang, FailureKind::out_of_memory, FailureKind::bad_message,
        FailureKind::spawn, FailureKind::internal, FailureKind::device}) {
    const int cap = FindRetryRule(kind).max_attempts;
    EXPECT_TRUE(DecideRetry({{kind, cap - 1}}, kind).retry) << GetFailureName(kind);
    EXPECT_FALSE(DecideRetry({{kind, cap}}, kind).retry) << GetFailureName(kind);
  }
}

TEST(RetryPolicy, WhatRepeatsItselfIsNeverTriedAgain) {
  for (const FailureKind kind :
       {FailureKind::not_finite, FailureKind::data, FailureKind::configuration, FailureKind::budget_refused})
    EXPECT_FALSE(DecideRetry({{kind, 1}}, kind).retry) << GetFailureName(kind);
}

TEST(RetryPolicy, OtherKindsDoNotCount) {
  EXPECT_TRUE(
      DecideRetry({{FailureKind::worker_hang, 2}, {FailureKind::worker_killed, 19}}, FailureKind::worker_hang).retry);
}

TEST(RetryPolicy, BackoffDoublesUpToItsCap) {
  const double first = FindRetryRule(FailureKind::worker_killed).backoff_seconds;
  EXPECT_EQ(DecideRetry({{FailureKind::worker_killed, 1}}, FailureKind::worker_killed).wait_seconds, first);
  EXPECT_EQ(DecideRetry({{FailureKind::worker_killed, 3}}, FailureKind::worker_killed).wait_seconds, 4 * first);
  EXPECT_EQ(DecideRetry({{FailureKind::worker_killed, 19}}, FailureKind::worker_killed).wait_seconds,
            kMaxBackoffSeconds);
}

TEST(RetryPolicy, RetryIsDueAtItsTimeAndWhenItsTimeCannotBeRight) {
  EXPECT_FALSE(IsRetryDue(1010, 1000));
  EXPECT_TRUE(IsRetryDue(1010, 1010));
  EXPECT_FALSE(IsRetryDue(1000 + kMaxBackoffSeconds, 1000));
  EXPECT_TRUE(IsRetryDue(1001 + kMaxBackoffSeconds, 1000));
}

TEST(StepWatch, HoldsTheDeadlineOfTheSpec) {
  StepWatch watch(100, 5, 2);
  EXPECT_EQ(watch.expires_at(), 100 + kStartSeconds + 2) << "until its first step";
  watch.Progressed(101, 0, "decoding 1 of 100 pictures");
  watch.Progressed(102, 0, "decoding 50 of 100 pictures");
  EXPECT_EQ(watch.expires_at(), 102 + kStartSeconds + 2) << "loading is no step";
  watch.Progressed(103, 1, "train");
  EXPECT_EQ(watch.expires_at(), 110);
  EXPECT_EQ(StepWatch(100, 30, 2).expires_at(), 132);
}

TEST(StepWatch, RepeatingTheSameStepIsNoProgress) {
  StepWatch watch(0, 5);
  watch.Progressed(1, 3, "train");
  watch.Progressed(4, 3, "train");
  EXPECT_EQ(watch.expires_at(), 6);
  watch.Progressed(4, 3, "evaluate");
  EXPECT_EQ(watch.expires_at(), 9);
}

TEST(StepWatch, DefaultFollowsTheSlowestStepAboveItsFloor) {
  StepWatch watch(0, 0);
  EXPECT_EQ(watch.allowed(), kSilenceFloorSeconds);
  watch.Progressed(2, 1, "train");
  EXPECT_EQ(watch.allowed(), kSilenceFloorSeconds);
  watch.Progressed(32, 2, "train");
  EXPECT_EQ(watch.allowed(), 30 * kSilenceFactor);
}

TEST(StepWatch, WhoeverPreparesMayBeSilentForLonger) {
  StepWatch watch(0, 0);
  watch.Progressed(1, 0, std::string(cluster::kPreparingPhase));
  EXPECT_EQ(watch.expires_at(), 901);
  watch.Progressed(41, 0, "starting");
  EXPECT_EQ(watch.expires_at(), 41 + 40 * kSilenceFactor);
  StepWatch slow(0, 0);
  slow.Progressed(1, 0, std::string(cluster::kPreparingPhase));
  slow.Progressed(801, 0, "starting");
  EXPECT_EQ(slow.expires_at(), 801 + kSilenceFloorSeconds * kSilenceFactor) << "what preparing took is no step";
  StepWatch given(0, 30);
  given.Progressed(1, 0, std::string(cluster::kPreparingPhase));
  EXPECT_EQ(given.expires_at(), 31);
}

TEST(StepWatch, TimeThatNobodyHadIsForgiven) {
  StepWatch watch(0, 20);
  watch.IgnoreGap(100);
  EXPECT_EQ(watch.expires_at(), 120);
}

privacy::PrivacyEvent Votes(std::int64_t count, double noise = 40) {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::noisy_votes;
  event.unit = privacy::EventUnit::vote;
  event.count = count;
  event.sensitivity = 1.4142135623730951;
  event.noise_std = noise;
  event.noise_coordinates = event.release_coordinates = 10;
  event.source = privacy::NoiseSource::secure_lattice;
  event.facts = privacy::ListNeededFacts(event.kind);
  return event;
}

TEST(PrivacyCharges, EqualEventsOfATrialAggregateAndOthersDoNot) {
  PrivacyCharges book;
  const TrialId trial(1), other(2);
  book.Add("d", trial, Votes(64));
  book.Add("d", trial, Votes(64));
  book.Add("d", trial, Votes(10, 80));
  book.Add("d", other, Votes(5));
  const auto events = book.CollectEvents(trial);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].count, 128);
  EXPECT_EQ(events[1].count, 10);
  EXPECT_EQ(book.ListChargesByTrial("d").size(), 2U);
  EXPECT_TRUE(book.ListChargesByTrial("elsewhere").empty());
}

TEST(PrivacyCharges, SettlingReleasesWhatWasNotUsed) {
  PrivacyCharges book;
  const auto handle = book.Add("d", TrialId(1), Votes(64));
  const auto unsettled = book.Add("d", TrialId(1), Votes(64));
  book.Settle(handle, 3);
  EXPECT_EQ(book.CollectEvents(TrialId(1))[0].count, 67);
  book.Settle(unsettled, 0);
  EXPECT_EQ(book.CollectEvents(TrialId(1))[0].count, 3);
}

TEST(PrivacyCharges, LoadsWhatTheLedgerCounts) {
  storage::LedgerEntry reserved, settled;
  reserved.data_digest = settled.data_digest = "d";
  reserved.attempt = settled.attempt = {TrialId(1), 1};
  reserved.event = settled.event = Votes(64);
  settled.state = storage::LedgerState::settled;
  settled.used = 10;
  PrivacyCharges book;
  book.Load({reserved, settled});
  EXPECT_EQ(book.CollectEvents(TrialId(1))[0].count, 74);
}

TEST(Budget, IsSpentByAllTrialsTogether) {
  const auto data = testing::SmallData();
  data->budget = Budget{4.0, 1e-5};
  PrivacyCharges book;
  // The most equal trials that fit, by the same accountant, one by one.
  int fitting = 0;
  while (!RefuseOverBudget(book, *data, Votes(64)) && fitting < 1000)
    book.Add(data->digest, TrialId(static_cast<std::uint64_t>(++fitting)), Votes(64));
  ASSERT_GT(fitting, 1);
  ASSERT_LT(fitting, 1000);
  EXPECT_LE(privacy::ComputeTotalEpsilon(book.ListChargesByTrial(data->digest), 1e-5), 4.0);
  const auto refusal = RefuseOverBudget(book, *data, Votes(64));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(*refusal, HasSubstr("digits"));
  EXPECT_THAT(*refusal, HasSubstr("budget"));
}

TEST(Budget, IsSpentByTheSameTrialAgain) {
  const auto data = testing::SmallData();
  data->budget = Budget{3.0, 1e-5};
  PrivacyCharges book;
  ASSERT_FALSE(RefuseOverBudget(book, *data, Votes(200)).has_value());
  book.Add(data->digest, TrialId(1), Votes(200));
  EXPECT_TRUE(RefuseOverBudget(book, *data, Votes(2000)).has_value());
}

TEST(Budget, RefusesWhatHasNoBound) {
  const auto data = testing::SmallData();
  data->budget = Budget{1e6, 1e-5};
  privacy::PrivacyEvent event = Votes(1);
  event.source = privacy::NoiseSource::seeded;
  EXPECT_TRUE(RefuseOverBudget(PrivacyCharges(), *data, event).has_value());
}

TEST(Budget, WithoutOneNothingIsRefused) {
  privacy::PrivacyEvent event = Votes(1);
  event.source = privacy::NoiseSource::seeded;
  EXPECT_FALSE(RefuseOverBudget(PrivacyCharges(), *testing::SmallData(), event).has_value());
}

}  // namespace
}  // namespace retort::orchestrator
