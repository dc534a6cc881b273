#include "orchestrator/results/plan_report.h"
#include "orchestrator/cli/render/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlanReport, WithoutResultsEverythingIsNewAndCostsAreUnknown) {
  const testing::Sample sample = testing::SampleSweep();
  const PlanReport report = MakePlanReport(sample.plan, "results/sample", nullptr);
  ASSERT_EQ(report.trials.size(), 5U);
  for (const PlannedTrial& trial : report.trials) {
    EXPECT_TRUE(trial.runs);
    EXPECT_EQ(trial.stored, nullptr);
    EXPECT_FALSE(EstimateTrial(report, trial));
  }
  EXPECT_FALSE(report.total);
  EXPECT_THAT(PlanAsText(report, 110), HasSubstr("unknown until the first trials of each kind have run"));
}

TEST(PlanReport, FinishedTrialsEstimateTheRest) {
  const testing::Sample sample = testing::SampleSweep();
  const PlanReport report =
      MakePlanReport(sample.plan, "results/sample", &sample.view, testing::SampleCosts(sample.view), 2);
  EXPECT_FALSE(report.trials[1].runs);
  EXPECT_EQ(FindReason(report.trials[1]), "done");
  EXPECT_TRUE(report.trials[3].runs);
  ASSERT_TRUE(report.total);
  EXPECT_DOUBLE_EQ(report.total->seconds.mean, 110);  // mean of 100 and 120 for the one seed that is left
  EXPECT_LT(report.total->seconds.low, 100);
  EXPECT_GT(report.total->seconds.high, 120);
  EXPECT_DOUBLE_EQ(report.total->device_hours.mean, 110.0 / 3600);
  EXPECT_EQ(report.total->measured, 2);
  EXPECT_THAT(PlanAsText(report, 110), HasSubstr("Time: about 1 min 50 s on 2 slots ("));
}

TEST(PlanReport, AnotherFoldersSweepOfTheSameShapesIsEstimatedWhole) {
  const testing::Sample sample = testing::SampleSweep();
  const CostModel costs = testing::SampleCosts(sample.view);
  const auto seconds = [&](int slots) {
    return MakePlanReport(sample.plan, "results/new", nullptr, costs, slots).total->seconds.mean;
  };
  // A teacher of 10 s, then three students of 110 s; a baseline of 30 s beside them.
  EXPECT_DOUBLE_EQ(seconds(1), 10 + 3 * 110 + 30);
  EXPECT_DOUBLE_EQ(seconds(4), 10 + 110);
}

TEST(PlanReport, RowsOfAnotherMachineAreNotMixedIn) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[1].row->provenance_json = R"({"machine":"elsewhere"})";
  const CostModel costs = ComputeCosts(sample.view, "here");
  EXPECT_DOUBLE_EQ(MakePlanReport(sample.plan, "r", &sample.view, costs).total->seconds.mean, 120);
}

TEST(PlanReport, CostGrowsWithTheSteps) {
  testing::Sample sample = testing::SampleSweep();
  TrialSpec longer = sample.plan.trials[3];
  longer.steps *= 2;
  const TrialSpec* teacher = &sample.plan.trials[0];
  const CostModel costs = testing::SampleCosts(sample.view);
  const auto estimate = costs.For(longer, teacher);
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->seconds, 220);
  longer.batch *= 2;
  EXPECT_FALSE(costs.For(longer, teacher));
}

TEST(PlanReport, UnmeasuredKindsAreCountedAndSoIsAGangThatNeverFits) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.trials[3].batch *= 2;
  const CostModel costs = testing::SampleCosts(sample.view);
  EXPECT_THAT(PlanAsText(MakePlanReport(sample.plan, "r", nullptr, costs, 1), 110), HasSubstr("(1 of 5 to run"));
  sample = testing::SampleSweep();
  sample.plan.trials[3].devices = 2;
  CostModel gangs = costs;
  CostSample gang;
  gang.trial = "g";
  gang.unit_seconds = 1;
  gangs.Add(ComputeCostShape(sample.plan.trials[3], &sample.plan.trials[0]), gang);
  EXPECT_THAT(PlanAsText(MakePlanReport(sample.plan, "r", nullptr, gangs, 1), 110),
              HasSubstr("needs more devices than 1"));
}

TEST(PlanReport, DiffNamesNewChangedAndDroppedTrials) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.trials[4].id = TrialId(5);
  const std::string diff = PlanDiffAsText(MakePlanReport(sample.plan, "results/sample", &sample.view));
  EXPECT_THAT(diff, HasSubstr("+ dpsgd-digits-s0-00000000  new\n"));
  EXPECT_THAT(diff, HasSubstr("~ dpdfd-working-digits-s2-abc00000  queued\n"));
  EXPECT_THAT(diff, HasSubstr("- dpsgd-digits-s0-dd000000  stored (succeeded), not in this plan\n"));
  EXPECT_THAT(diff, HasSubstr("3 of 5 planned trials are already"));
}

TEST(PlanReport, NothingLeftIsSaidSo) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.trials.erase(sample.plan.trials.begin() + 3);
  const std::string text = PlanAsText(MakePlanReport(sample.plan, "results/sample", &sample.view), 110);
  EXPECT_THAT(text, HasSubstr("Nothing is left to run"));
}

TEST(PlanReport, RoomForRetriesIsSaidWhereTrialsAreCalibrated) {
  testing::Sample sample = testing::SampleSweep();
  const auto text = [&] { return PlanAsText(MakePlanReport(sample.plan, "results/x", nullptr), 1000); };
  EXPECT_THAT(text(), ::testing::Not(HasSubstr("leave room")));
  sample.plan.trials[1].privacy.calibrate = Calibrate::noise;
  EXPECT_THAT(text(), HasSubstr("leave no room for lost attempts (retries = 0)"));
  sample.plan.trials[2].privacy.calibrate = Calibrate::steps;
  sample.plan.trials[2].execution.retries = 2;
  EXPECT_THAT(text(), HasSubstr("leave room for 0 to 2 lost attempts"));
}

TEST(PlanReport, JsonIsTheListFormWithReasonEstimateAndClaims) {
  const testing::Sample sample = testing::SampleSweep();
  std::string text;
  const CostModel costs = testing::SampleCosts(sample.view);
  WritePlanAsJson(MakePlanReport(sample.plan, "results/sample", &sample.view, costs, 3),
                  [&text](std::string_view piece) { text += piece; });
  const auto document = nlohmann::json::parse(text);
  EXPECT_EQ(document.at("schema_version"), 1);
  const auto& trial = document.at("trials").at(3);
  for (const char* field :
       {"trial", "name", "state", "attempts", "failure", "metrics", "spec", "new", "reason", "estimate", "claims"})
    EXPECT_TRUE(trial.contains(field)) << field;
  EXPECT_EQ(trial.at("trial"), "abc0000000000002");
  EXPECT_EQ(trial.at("new"), false);
  EXPECT_DOUBLE_EQ(trial.at("estimate").at("seconds").get<double>(), 110);
  EXPECT_LT(trial.at("estimate").at("low").get<double>(), trial.at("estimate").at("high").get<double>());
  EXPECT_EQ(document.at("estimate").at("slots"), 3);
  EXPECT_GT(document.at("estimate").at("device_hours").at("high").get<double>(), 0);
  EXPECT_EQ(document.at("data").at(0).at("digest"), std::string(64, 'a'));
}

TEST(PlanReport, WorkingReadingPlansATeacherEpsilonBeyondProtection) {
  const testing::Sample sample = testing::SampleSweep();
  const PlanReport report = MakePlanReport(sample.plan, "results/sample", nullptr);
  double teacher = 0;
  PlannedClaims claims;
  for (const privacy::Claim& claim : claims.Of(*report.trials[1].spec, report.trials[1].teacher))
    if (claim.adjacency == privacy::Adjacency::teacher) teacher = claim.epsilon;
  EXPECT_GT(teacher, 1e5);
  EXPECT_THAT(PlanAsText(report, 110), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace retort::orchestrator::cli
