// Finished trials as trackers of experiments keep them: names of ε, times of points, settings.
#include "orchestrator/results/trial_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using privacy::Adjacency;
using privacy::Claim;
using privacy::ClaimStatus;
using privacy::Neighbour;

Claim MakeClaim(ClaimStatus status, double epsilon) {
  Claim claim = testing::ProvenClaim(Adjacency::example, Neighbour::add_remove, epsilon);
  claim.status = status;
  return claim;
}

TEST(TrialRecord, NameOfAnEpsilonSaysItsWorth) {
  EXPECT_EQ(FormatClaimName(MakeClaim(ClaimStatus::proven, 3)), "proven.example.add-remove.delta-1e-05");
  EXPECT_EQ(FormatClaimName(MakeClaim(ClaimStatus::unbounded, 3)), "no-bound.example.add-remove");
  EXPECT_EQ(FormatClaimName(MakeClaim(ClaimStatus::proven, INFINITY)), "no-bound.example.add-remove");
  EXPECT_EQ(FormatClaimName(MakeClaim(ClaimStatus::audited, 3)), "audited-lower-bound.example.add-remove.delta-1e-05");
  Claim quoted = MakeClaim(ClaimStatus::paper_formula, 3);
  quoted.delta_stated = false;
  EXPECT_EQ(FormatClaimName(quoted), "paper-formula-not-a-guarantee.example.add-remove.delta-not-stated");
}

TrialRecord RecordClaims(std::vector<Claim> claims) {
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[0];
  trial.row->claims = std::move(claims);
  return MakeTrialRecord(sample.view, trial, {}, {});
}

TEST(TrialRecord, NoTwoEpsilonsShareAName) {
  const TrialRecord record = RecordClaims(
      {MakeClaim(ClaimStatus::proven, 3), MakeClaim(ClaimStatus::proven, 4), MakeClaim(ClaimStatus::unbounded, 0.5)});
  ASSERT_EQ(record.epsilons.size(), 3U);
  EXPECT_EQ(record.epsilons[1].name, record.epsilons[0].name + ".2");
  EXPECT_EQ(record.epsilons[1].epsilon, 4);
}

TEST(TrialRecord, WhatHasNoBoundIsInfinite) {
  const TrialRecord record = RecordClaims({MakeClaim(ClaimStatus::unbounded, 0.5)});
  EXPECT_EQ(record.epsilons.at(0).epsilon, INFINITY);
  EXPECT_THAT(record.epsilons.at(0).line, ::testing::HasSubstr("∞"));
}

TEST(TrialRecord, PointHasTheTimeOfTheNextNote) {
  const TrialTimes times{100, 140, {{10, 110}, {20, 120}}};
  EXPECT_EQ(FindTime(times, 0, 999), 110);
  EXPECT_EQ(FindTime(times, 9, 999), 110);
  EXPECT_EQ(FindTime(times, 10, 999), 120);  // step 10 is the eleventh
  EXPECT_EQ(FindTime(times, 20, 999), 140);
  EXPECT_EQ(FindTime({}, 20, 999), 999);
  EXPECT_EQ(FindTime({100, 140, {{10, 90}}}, 0, 999), 100);  // the clock was put back
}

TEST(TrialRecord, AnEpsilonAskedForIsCalledSo) {
  testing::Sample sample = testing::SampleSweep();
  const TrialRecord record = MakeTrialRecord(sample.view, sample.view.trials[4], {}, {});
  EXPECT_THAT(record.settings, ::testing::Contains(std::pair<std::string, std::string>("epsilon-asked-for", "3")));
  for (const auto& [key, value] : record.settings) EXPECT_NE(key, "epsilon");
}

TEST(TrialRecord, SettingsHoldNoPath) {
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[0];
  trial.spec.method = "loaded";
  trial.spec.weights = "/home/somebody/w.pth";
  const TrialRecord record = MakeTrialRecord(sample.view, trial, {}, {});
  EXPECT_THAT(record.settings, ::testing::Contains(std::pair<std::string, std::string>("weights", "w.pth")));
  for (const auto& [key, value] : record.settings) EXPECT_THAT(value, ::testing::Not(::testing::HasSubstr("/"))) << key;
}

}  // namespace
}  // namespace retort::orchestrator::cli
