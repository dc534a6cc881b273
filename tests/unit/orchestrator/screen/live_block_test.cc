// The block of lines that a terminal shows while a sweep runs.
#include "experiments/base/number_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "experiments/base/printable.h"
#include "orchestrator/reactor/attempt_failure.h"
#include "orchestrator/screen/progress_view.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::FamilyPlan;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::MakePlan;
using ::testing::SizeIs;
using testing::TrialBuilder;

std::vector<std::string> Texts(const std::vector<BlockLine>& lines) {
  std::vector<std::string> texts;
  for (const BlockLine& line : lines) texts.push_back(line.text);
  return texts;
}

DataSpending MakeSpent(double epsilon, double delta, std::optional<double> budget) {
  DataSpending spent;
  spent.data = "digits";
  spent.epsilon = spent.root_epsilon = epsilon;
  spent.delta = delta;
  if (budget) spent.budget = Budget{*budget, delta};
  return spent;
}

BlockContent SampleBlock() {
  BlockContent content;
  content.problems = {{"failed: ", "dpdfd-working-digits-s0", ": worker_crash: killed by SIGSEGV"}};
  content.running = {{"dpdfd-working-digits-s1", "train", 40, 160, 3.25},
                     {"dpdfd-sound-digits-s0", "starting", 0, 0, 0}};
  content.tally = {.trials = 8, .done = 3, .failed = 1, .running = 2, .queued = 3};
  content.left = Interval{250, 190, 370};
  content.trials_per_hour = 12.4;
  content.spent = {MakeSpent(2.311, 1e-5, 3.0)};
  content.next = FormatNextEvent(37, "dpdfd-working-digits-s1", "ends");
  return content;
}

TEST(LiveLayout, WideScreenHasItAll) {
  EXPECT_THAT(Texts(LayOutBlock(SampleBlock(), {.width = 100, .height = 30})),
              ElementsAre("failed: dpdfd-working-digits-s0: worker_crash: killed by SIGSEGV",
                          "dpdfd-working-digits-s1 train    40/160 ████░░░░░░░░░░░░░░░ 3.2/s",
                          "dpdfd-sound-digits-s0   starting        ░░░░░░░░░░░░░░░░░░░",
                          "███████░░░░░░░░░░░░ 3/8 done, 1 failed, 2 running, 3 queued",
                          "~4 min left (3 to 6 min), 12 trials/h", "digits: example ε ≤ 2.311 of 3, δ 1e-5",
                          "next, in ~37 s: dpdfd-working-digits-s1 ends"));
}

TEST(LiveLayout, NarrowScreenIsReadable) {
  EXPECT_THAT(Texts(LayOutBlock(SampleBlock(), {.width = 40, .height = 12})),
              ElementsAre("failed: dpdfd-…its-s0: worker_crash: k…", "dpdfd…ts-s1 train    40/160 █░░░░ 3.2/s",
                          "dpdfd…ts-s0 starting        ░░░░░", "██░░░░░ 3/8 done, 1 failed, 2 running,…",
                          "~4 min left (3 to 6 min), 12 trials/h", "digits: example ε ≤ 2.311 of 3, δ 1e-5",
                          "next, in ~37 s: dpdfd-wor…igits-s1 ends"));
}

TEST(LiveLayout, WithoutUtf8EveryByteIsAscii) {
  for (const std::size_t width : {40U, 100U}) {
    for (const BlockLine& line : LayOutBlock(SampleBlock(), {.width = width, .height = 12, .utf8 = false})) {
      EXPECT_LT(line.text.size(), width);
      for (const char byte : line.text) EXPECT_EQ(static_cast<unsigned char>(byte) & 0x80U, 0U) << line.text;
    }
  }
  EXPECT_EQ(LayOutBlock(SampleBlock(), {.width = 100, .height = 30, .utf8 = false})[3].text,
            "#######............ 3/8 done, 1 failed, 2 running, 3 queued");
}

TEST(LiveLayout, NoLineIsAsWideAsTheScreenAndNoBlockAsHigh) {
  BlockContent content = SampleBlock();
  for (int i = 0; i < 40; ++i) {
    content.problems.push_back(content.problems[0]);
    content.running.push_back(content.running[0]);
    content.spent.push_back(content.spent[0]);
  }
  for (std::size_t width = 1; width <= 130; ++width) {
    for (std::size_t height = 1; height <= 40; ++height) {
      const std::vector<BlockLine> lines = LayOutBlock(content, {.width = width, .height = height});
      EXPECT_LE(lines.size(), std::clamp<std::size_t>(height - 1, 1, kMaxBlockLines));
      for (const BlockLine& line : lines)
        EXPECT_LT(CountColumns(line.text), std::max<std::size_t>(width, 2)) << line.text;
      EXPECT_TRUE(lines.front().problem) << "problems come first";
    }
  }
}

TEST(LiveLayout, WhatHasNoRoomIsCounted) {
  BlockContent content = SampleBlock();
  for (int i = 0; i < 40; ++i) content.running.push_back(content.running[0]);
  const std::vector<std::string> lines = Texts(LayOutBlock(content, {.width = 100, .height = 30}));
  ASSERT_THAT(lines, SizeIs(kMaxBlockLines));
  EXPECT_EQ(lines[7], "and 36 more running") << "42 run, 6 are named";
}

TEST(LiveLayout, SmallestScreenShowsTheWorstProblemAndTheCounts) {
  EXPECT_THAT(Texts(LayOutBlock(SampleBlock(), {.width = 100, .height = 3})),
              ElementsAre(HasSubstr("failed: "), HasSubstr("3/8 done")));
}

TEST(LiveLayout, ControlCharactersOfADetailDoNotReachTheScreen) {
  BlockContent content = SampleBlock();
  content.problems[0].after = ": wrote \x1b[2J\nand \xff";
  EXPECT_THAT(LayOutBlock(content, {.width = 100, .height = 30})[0].text, HasSubstr(": wrote  and ?"));
}

// The thousandths to which totals are rounded up: 1000 times 2.311 is a little more than 2311.
TEST(LiveLayout, CostIsToldAsItWasRoundedAndUnboundedWithItsReason) {
  EXPECT_EQ(FormatSpending(MakeSpent(2.311, 1e-5, 3.0)), (NamedText{"", "digits", ": example ε ≤ 2.311 of 3, δ 1e-5"}));
  for (const std::string text : {"0.001", "1.001", "2.003", "4.035", "8.199", "16.393", "1073.741"})
    EXPECT_EQ(FormatSpending(MakeSpent(std::stod(text), 0.001, {})).after,
              ": example ε ≤ " + text + ", δ 0.001, no budget");
  DataSpending unbounded = MakeSpent(std::numeric_limits<double>::infinity(), 1e-5, {});
  unbounded.root_reason = "seeded-noise";
  EXPECT_EQ(FormatSpending(unbounded), (NamedText{"", "digits", ": example ε unbounded (seeded-noise)"}));
}

TEST(LiveLayout, DurationsAreAsRoughAsTheyAreKnownAndNeverNegative) {
  EXPECT_EQ(FormatRoughDuration(-5), "0 s");
  EXPECT_EQ(FormatRoughDuration(0.2), "1 s");
  EXPECT_EQ(FormatRoughDuration(99), "99 s");
  EXPECT_EQ(FormatRoughDuration(720), "12 min");
  EXPECT_EQ(FormatRoughDuration(3.44 * 3600), "3.4 h");
  EXPECT_EQ(FormatRoughDuration(60 * 3600), "2.5 d");
}

class LiveBlockTest : public OrchestratorTest {
 protected:
  void Begin(const SweepPlan& plan, int slots) {
    Open(plan);
    Register(0, slots);
    Register(1, 1);
    Tick();
    plan_ = plan;
  }
  void Note() {
    watch_.Events(outbox_.journal);
    outbox_.journal.clear();
  }
  std::vector<std::string> Block() {
    return Texts(RenderLiveBlock(core_, watch_.Look(core_, now()), now(), {.width = 100, .height = 30}));
  }
  SweepPlan plan_;
  LiveWatch watch_;
};

TEST_F(LiveBlockTest, RunningTrialsShowTheirStepsAndHowFastTheyGo) {
  Begin(FamilyPlan(1, 2), 1);
  for (int step = 1; step <= 5; ++step) {
    Say(plan_.trials[0].id, cluster::Progress{step, 10, "train", {}});
    static_cast<void>(Block());
    time_ += 2;
  }
  EXPECT_THAT(Block(), ElementsAre("teacher-t0-s0 train 5/10 █████████░░░░░░░░░░ 0.5/s",
                                   "░░░░░░░░░░░░░░░░░░░ 0/3 done, 1 running, 2 waiting", "time left not known yet",
                                   "next, in ~8 s: teacher-t0-s0 ends"));
  time_ += 30;
  EXPECT_THAT(Block()[0], HasSubstr("0.11/s")) << "a step that is late";
  EXPECT_THAT(Block().back(), ::testing::EndsWith("teacher-t0-s0 ends"));
}

TEST_F(LiveBlockTest, FailureAndItsCauseComeFirst) {
  Begin(FamilyPlan(2, 1), 1);
  Note();
  Fail(plan_.trials[0].id, FailureKind::not_finite, "the loss is NaN");
  Tick();
  Note();
  const std::vector<BlockLine> lines =
      RenderLiveBlock(core_, watch_.Look(core_, now()), now(), {.width = 100, .height = 30});
  EXPECT_EQ(lines[0].text, "failed: " + plan_.trials[0].name + ": not_finite: the loss is NaN");
  EXPECT_TRUE(lines[0].problem);
  EXPECT_FALSE(lines[1].problem);
}

TEST_F(LiveBlockTest, OldFailuresAreShownUnlessRetried) {
  Begin(FamilyPlan(2, 1), 1);
  Fail(plan_.trials[0].id, FailureKind::not_finite, "the loss is NaN");
  Tick();
  EXPECT_THAT(Block()[0], HasSubstr("failed: " + plan_.trials[0].name)) << "no event told of it";
  Record(core_, TrialReopened{plan_.trials[0].id}, now(), outbox_);
  EXPECT_THAT(Block(), Each(::testing::Not(HasSubstr("failed: "))));
}

TEST_F(LiveBlockTest, RetrySaysWhenAndWhy) {
  Begin(FamilyPlan(1, 1), 1);
  Fail(plan_.trials[0].id, FailureKind::worker_hang, "no progress for 120 s");
  EXPECT_EQ(Block()[0], "again in 1 s: teacher-t0-s0: worker_hang: no progress for 120 s");
  EXPECT_EQ(Block().back(), "next, in ~1 s: teacher-t0-s0 is tried again");
  clock_error_ = 7200;  // somebody puts the clock forward
  EXPECT_EQ(Block()[0], "again: teacher-t0-s0: worker_hang: no progress for 120 s");
}

TEST_F(LiveBlockTest, LostAgentDrainedSlotLowDiskAndBudgetAreProblems) {
  Begin(FamilyPlan(1, 1), 1);
  core_.fleet.Lose(WorldRank{1});
  time_ += 20;
  LiveFacts facts;
  facts.free_bytes = 200'000'000;
  facts.spent = {MakeSpent(2.9, 1e-5, 3.0)};
  EXPECT_THAT(Texts(RenderLiveBlock(core_, facts, now(), {.width = 100, .height = 30})),
              ::testing::IsSupersetOf({"lost: rank 1 on node1, not heard for 20 s", "disk low: 0.2 GB free",
                                       "budget nearly spent: digits: example ε ≤ 2.900 of 3, δ 1e-5"}));
  facts.spent = {MakeSpent(3.0, 1e-5, 3.0)};
  EXPECT_THAT(Texts(RenderLiveBlock(core_, facts, now(), {.width = 100, .height = 30})),
              ::testing::Contains("budget spent: digits: example ε ≤ 3.000 of 3, δ 1e-5"));
}

TEST_F(LiveBlockTest, QueueThatWaitsThoughASlotIsFreeSaysForWhat) {
  core_.quota.concurrency = 1;
  SweepPlan plan = FamilyPlan(2, 0);
  plan.quota.concurrency = 1;
  Begin(plan, 1);
  EXPECT_EQ(Block()[0], "waiting: " + plan.trials[1].name + ": the quota of 1 trial at once is in use");
}

TEST_F(LiveBlockTest, StopIsAProblemAndNoTimeIsTold) {
  Begin(FamilyPlan(1, 1), 1);
  OnStopRequested(core_, "SIGINT", 25, now(), outbox_);
  EXPECT_EQ(Block()[0], "stopping: SIGINT; at most 25 s more");
  EXPECT_THAT(Block(), ::testing::Contains("stopping"));
}

TEST_F(LiveBlockTest, TrialsAnHourAreThoseThatEnded) {
  Begin(FamilyPlan(1, 1), 1);
  static_cast<void>(Block());
  time_ += 1;
  Succeed(plan_.trials[0].id);
  Tick();
  EXPECT_THAT(Block(), Each(::testing::Not(HasSubstr("trials/h")))) << "a second tells nothing of an hour";
  time_ += 1799;
  EXPECT_THAT(Block(), ::testing::Contains(HasSubstr("2 trials/h")));
}

// The best of several looks counts: others share the machine.
TEST_F(LiveBlockTest, LookAtTenThousandTrialsIsCheap) {
  std::vector<TrialSpec> trials;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) trials.push_back(TrialBuilder(seed).Teacher("t").Build());
  Open(MakePlan(trials));
  Register(0, 8);
  Register(1, 8);
  Tick();
  static_cast<void>(Block());
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 20; ++i) {
    const auto began = std::chrono::steady_clock::now();
    ASSERT_THAT(Block(), SizeIs(kMaxBlockLines));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    best = std::min(best, took.count());
    time_ += kLiveRefreshSeconds;
  }
  EXPECT_LT(best, 0.001) << "at four a second: less than half a percent of one core";
}

}  // namespace
}  // namespace retort::orchestrator
