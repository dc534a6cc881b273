#include "orchestrator/results/tables/table_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Names(const Completion& completion) {
  std::vector<std::string> names;
  for (const TrialSpec& spec : completion.plan.trials) names.push_back(spec.name);
  return names;
}

Completion Of(const testing::Sample& sample) { return PlanCompletion(sample.plan, sample.plan.tables, sample.view); }

TEST(TableCompletion, RunsWhatIsMissingAndKeepsWhatHasEnded) {
  const Completion completion = Of(testing::SampleSweep());
  EXPECT_EQ(completion.missing, 1U);
  EXPECT_EQ(completion.failed, 0U);
  EXPECT_EQ(completion.plan.trials.size(), 5U);
}

TEST(TableCompletion, NothingStoredMeansEveryTrialAndItsTeacher) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials.clear();
  EXPECT_EQ(Of(sample).missing, 4U);
  EXPECT_EQ(Of(sample).plan.trials.size(), 5U);
}

TEST(TableCompletion, TeachersOfNoMissingCellAreLeftOut) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials.clear();
  sample.plan.tables[0].where = {{"method", {"dpsgd"}}};
  const Completion completion = Of(sample);
  EXPECT_EQ(completion.missing, 1U);
  EXPECT_THAT(Names(completion), ElementsAre("dpsgd-digits-s0"));
}

TEST(TableCompletion, TrialsOfOtherTablesThatHaveEndedStayInThePlan) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].where = {{"method", {"dpsgd"}}};
  const Completion completion = Of(sample);
  EXPECT_EQ(completion.missing, 0U);
  EXPECT_THAT(Names(completion), ElementsAre("teacher-single-digits-s0", "dpdfd-working-digits-s0",
                                             "dpdfd-working-digits-s1", "dpsgd-digits-s0"));
}

TEST(TableCompletion, AFinishedTableLacksNothing) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[3].state = TrialState::succeeded;
  EXPECT_EQ(Of(sample).missing, 0U);
}

TEST(TableCompletion, FailedTrialsAreCountedAndNotRunAgain) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[3].state = TrialState::failed;
  EXPECT_EQ(Of(sample).missing, 0U);
  EXPECT_EQ(Of(sample).failed, 1U);
  sample.view.trials[3].failure = FailureKind::disk;
  EXPECT_EQ(Of(sample).missing, 1U) << "a run tries it again";
  EXPECT_EQ(Of(sample).failed, 0U);
}

}  // namespace
}  // namespace retort::orchestrator::cli
