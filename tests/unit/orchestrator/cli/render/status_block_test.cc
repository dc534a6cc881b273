// A results folder as the block of lines that `retort status --watch` shows.
#include "orchestrator/cli/render/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

// The unfinished trial of the sample runs; its newest event was at 1000.
testing::Sample RunningSample() {
  testing::Sample sample = testing::SampleSweep();
  sample.view.running = true;
  sample.view.newest_event = 1000;
  TrialView& trial = sample.view.trials[3];
  trial.state = TrialState::running;
  trial.phase = "distill";
  trial.step = 40;
  trial.total_steps = 160;
  return sample;
}

TEST(StatusBlock, TellsWhatRunsAndCountsTheRest) {
  const testing::Sample sample = RunningSample();
  const BlockContent content = MakeBlock(ComputeStatus(sample.view, {}, 1001), 1001);
  ASSERT_EQ(content.running.size(), 1U);
  EXPECT_EQ(content.running[0].name, sample.view.trials[3].spec.name);
  EXPECT_EQ(content.running[0].phase, "distill");
  EXPECT_EQ(content.running[0].step, 40);
  EXPECT_EQ(content.running[0].total_steps, 160);
  EXPECT_EQ(content.tally.trials, 5U);
  EXPECT_EQ(content.tally.done, 4U);
  EXPECT_EQ(content.tally.running, 1U);
  EXPECT_EQ(content.tally.queued, 0U);
  EXPECT_TRUE(content.problems.empty());
}

TEST(StatusBlock, LeasedTrialIsStarting) {
  testing::Sample sample = RunningSample();
  sample.view.trials[3].state = TrialState::leased;
  EXPECT_EQ(MakeBlock(ComputeStatus(sample.view, {}, 1001), 1001).running.at(0).phase, "starting");
}

TEST(StatusBlock, WorstProblemComesFirst) {
  testing::Sample sample = RunningSample();
  sample.view.trials[4].state = TrialState::failed;
  sample.view.trials[4].failure = FailureKind::not_finite;
  sample.view.trials[4].detail = "loss is NaN at step 3";
  sample.view.trials[3].state = TrialState::queued;
  sample.view.trials[3].failure = FailureKind::worker_crash;
  sample.view.trials[3].attempts = 2;
  const BlockContent content = MakeBlock(ComputeStatus(sample.view, {}, 1001), 1001);
  ASSERT_EQ(content.problems.size(), 2U);
  EXPECT_THAT(content.problems[0].before, HasSubstr("loss is NaN at step 3"));
  EXPECT_THAT(content.problems[1].before, HasSubstr("was tried 2 times"));
  EXPECT_EQ(content.tally.failed, 1U);
}

TEST(StatusBlock, NextIsTheSoonestOfEndsAndRetries) {
  testing::Sample sample = RunningSample();
  const CostModel costs = testing::SampleCosts(sample.view);
  const std::string running = sample.view.trials[3].spec.name;
  BlockContent content = MakeBlock(ComputeStatus(sample.view, costs, 1001), 1001);
  ASSERT_TRUE(content.left);
  ASSERT_TRUE(content.next);
  EXPECT_EQ(content.next->name, running);
  EXPECT_EQ(content.next->after, " ends");
  sample.view.trials[4].state = TrialState::queued;
  sample.view.trials[4].failure = FailureKind::worker_hang;
  sample.view.trials[4].retry_at = 1004;
  content = MakeBlock(ComputeStatus(sample.view, costs, 1001), 1001);
  ASSERT_TRUE(content.next);
  EXPECT_EQ(*content.next, FormatNextEvent(3, sample.view.trials[4].spec.name, "is tried again"));
}

TEST(StatusBlock, SilentRunAndOpenRequestsAreSaid) {
  testing::Sample sample = RunningSample();
  sample.view.requests = 2;
  AttemptLeased leased;
  leased.attempt = {sample.view.trials[3].spec.id, 1};
  leased.members = {{0, 0}};
  sample.view.usage.On({910, leased});
  const BlockContent content = MakeBlock(ComputeStatus(sample.view, {}, 5000), 5000);
  EXPECT_THAT(content.problems, Contains(Field(&NamedText::before, HasSubstr("has written nothing for"))));
  EXPECT_THAT(content.problems, Contains(Field(&NamedText::before, HasSubstr("2 requests"))));
}

TEST(StatusBlock, ClockBehindTheRunMakesNoTimeNegative) {
  testing::Sample sample = RunningSample();
  sample.view.trials[4].state = TrialState::queued;
  sample.view.trials[4].failure = FailureKind::worker_hang;
  sample.view.trials[4].retry_at = 1004;
  const BlockContent content = MakeBlock(ComputeStatus(sample.view, {}, 200), 200);
  ASSERT_TRUE(content.next);
  EXPECT_EQ(*content.next, FormatNextEvent(4, sample.view.trials[4].spec.name, "is tried again"))
      << "as of the newest event";
  EXPECT_THAT(content.problems,
              Contains(Field(&NamedText::before, HasSubstr("in the future of this machine's clock"))));
}

}  // namespace
}  // namespace retort::orchestrator::cli
