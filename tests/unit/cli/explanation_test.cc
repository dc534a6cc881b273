#include "orchestrator/cli/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;

TEST(Explanation, ParentFailedIsExplainedByTheTeachersFailure) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[0].state = TrialState::failed;
  sample.view.trials[0].failure = FailureKind::data;
  sample.view.trials[0].detail = "labels are truncated";
  sample.view.trials[1].state = TrialState::parent_failed;
  const Explanation explanation = Explain(sample.view, sample.view.trials[1], 0);
  EXPECT_THAT(explanation.sentences.at(1), HasSubstr("labels are truncated"));
  EXPECT_THAT(explanation.next, HasSubstr("retort plan"));
}

TEST(Explanation, WaitingNamesTheTeacherAndItsState) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.running = true;
  sample.view.trials[0].state = TrialState::running;
  sample.view.trials[0].step = 3;
  sample.view.trials[0].total_steps = 5;
  sample.view.trials[1].state = TrialState::waiting;
  const Explanation explanation = Explain(sample.view, sample.view.trials[1], 0);
  EXPECT_THAT(explanation.sentences.at(0), HasSubstr("teacher-single-digits-s0-11111111, which is running"));
  EXPECT_THAT(explanation.sentences.at(1), HasSubstr("step 3 of 5"));
}

TEST(Explanation, QueuedTellsARetryFromABusyDeviceFromAStoppedSweep) {
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[3];
  EXPECT_THAT(Explain(sample.view, trial, 0).sentences.at(0), HasSubstr("nobody is running"));
  sample.view.running = true;
  EXPECT_THAT(Explain(sample.view, trial, 0).sentences.at(0), HasSubstr("every device is busy"));
  trial.retry_at = 130;
  EXPECT_THAT(Explain(sample.view, trial, 100).sentences.at(0), HasSubstr("tried again in 30 s"));
}

TEST(Explanation, QueuedNamesTheDevicesThatAreBusyAndWhoIsAhead) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.running = true;
  for (TrialView& other : sample.view.trials) other.state = TrialState::queued;
  TrialView& running = sample.view.trials[0];
  running.state = TrialState::running;
  running.step = 3;
  running.total_steps = 5;
  AttemptLeased leased;
  leased.attempt = {running.spec.id, 1};
  leased.members = {{1, 2}};
  sample.view.usage.On({10, leased});
  const Explanation second = Explain(sample.view, sample.view.trials[2], 20);
  EXPECT_THAT(second.sentences.at(0), HasSubstr("1 queued before it"));
  EXPECT_THAT(second.sentences.at(1),
              HasSubstr("rank 1 slot 2 runs teacher-single-digits-s0-11111111 (step 3 of 5)"));
  sample.view.trials[3].spec.priority = 2;
  EXPECT_THAT(Explain(sample.view, sample.view.trials[2], 20).sentences.at(0),
              HasSubstr("2 queued before it"));
}

TEST(Explanation, QuotaThatKeepsATrialBackIsNamed) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.quota.wall_seconds = 60;
  sample.view.usage.On({0, SweepOpened{}});
  AttemptLeased leased;
  leased.attempt = {TrialId(1), 1};
  sample.view.usage.On({70, leased});
  const Explanation explanation = Explain(sample.view, sample.view.trials[3], 100);
  EXPECT_THAT(explanation.sentences.at(0), HasSubstr("quota of 60 s wall clock"));
  EXPECT_THAT(explanation.next, HasSubstr("Raise [sweep] quota"));
}

TEST(Explanation, BudgetOfTheDataSetIsNamed) {
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[3];
  auto data = std::make_shared<DataSpec>(*trial.spec.data);
  data->budget = Budget{3, 1e-5};
  trial.spec.data = data;
  const Explanation explanation = Explain(sample.view, trial, 0);
  EXPECT_THAT(explanation.sentences.back(), HasSubstr("The budget of data set digits is ε ≤ 3.000"));
}

TEST(Explanation, TimeThatIsTooShortIsNamedWithBothTimes) {
  testing::Sample sample = testing::SampleSweep();
  const CostModel costs = testing::SampleCosts(sample.view);
  sample.view.running = true;
  sample.view.terms.work_ends = 1005;
  TrialView& trial = sample.view.trials[3];
  trial.spec.checkpoint_seconds = 60;
  const Explanation explanation = Explain(sample.view, trial, 1000, costs);
  EXPECT_THAT(explanation.sentences.at(0), HasSubstr("not started any more in this run"));
  EXPECT_THAT(explanation.sentences.at(0), HasSubstr("the run stops in 5 s"));
  EXPECT_THAT(explanation.next, HasSubstr("more time"));
  EXPECT_THAT(Explain(sample.view, trial, 900, costs).sentences.at(0), HasSubstr("every device is busy"));
  EXPECT_THAT(Explain(sample.view, trial, 1000).sentences.at(0), HasSubstr("every device is busy"))
      << "of unknown cost it would start";
}

TEST(Explanation, RetryNamesTheRule) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.running = true;
  TrialView& trial = sample.view.trials[3];
  trial.attempts = 1;
  trial.failure = FailureKind::worker_crash;
  trial.retry_at = 130;
  EXPECT_THAT(Explain(sample.view, trial, 100).sentences.at(1), HasSubstr("after worker_crash, at most"));
}

TEST(Explanation, FailureSaysWhetherItIsRetriedAndWhatHelps) {
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[1];
  trial.state = TrialState::failed;
  trial.failure = FailureKind::not_finite;
  const Explanation explanation = Explain(sample.view, trial, 0);
  EXPECT_THAT(explanation.sentences.at(1), HasSubstr("not retried"));
  EXPECT_THAT(explanation.next, HasSubstr("lr"));
}

TEST(Explanation, EveryStateHasASentence) {
  testing::Sample sample = testing::SampleSweep();
  for (int state = 1; state <= 8; ++state) {
    sample.view.trials[1].state = static_cast<TrialState>(state);
    EXPECT_FALSE(Explain(sample.view, sample.view.trials[1], 0).sentences.empty()) << state;
  }
}

}  // namespace
}  // namespace retort::orchestrator::cli
