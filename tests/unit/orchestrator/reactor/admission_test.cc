#include "orchestrator/reactor/admission.h"

#include <gmock/gmock.h>

#include "orchestrator/reactor/scheduler.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;
using testing::MakePlan;
using testing::TrialBuilder;

CostModel Costs(const TrialSpec& spec, double unit_seconds, double start_seconds) {
  CostModel costs;
  CostSample sample;
  sample.trial = "a";
  sample.unit_seconds = unit_seconds;
  sample.start_seconds = start_seconds;
  costs.Add(ComputeCostShape(spec, nullptr), sample);
  return costs;
}

TEST(ComputeSecondsToCheckpoint, WhatComesFirstPlusTheStartUp) {
  TrialSpec spec = TrialBuilder().Steps(100).Build();
  spec.execution.checkpoint_seconds = 30;
  const CostModel costs = Costs(spec, 2, 5);
  EXPECT_DOUBLE_EQ(*ComputeSecondsToCheckpoint(costs, spec, nullptr, 0), 5 + 30 + 2);
  EXPECT_NEAR(*ComputeSecondsToCheckpoint(costs, spec, nullptr, 0.95), 5 + 10, 1e-9) << "it ends before";
  spec.execution.checkpoint_steps = 4;
  EXPECT_DOUBLE_EQ(*ComputeSecondsToCheckpoint(costs, spec, nullptr, 0), 5 + 8);
  EXPECT_FALSE(ComputeSecondsToCheckpoint(CostModel(), spec, nullptr, 0));
}

TEST(RefuseByTime, SaysBothTimesAndLetsTheUnknownStart) {
  EXPECT_EQ(RefuseByTime(std::nullopt, 0.1), "");
  EXPECT_EQ(RefuseByTime(10, 10), "");
  EXPECT_EQ(RefuseByTime(40, 12), "its next checkpoint is 40 s away, and the run stops in 12 s");
}

// Two slots, one trial that needs 12 s to its checkpoint and one of another shape that needs 3 s.
class TimeFitTest : public OrchestratorTest {
 protected:
  void Start(double left, bool measured = true) {
    TrialSpec slow = TrialBuilder(1).Steps(100).Build(), quick = TrialBuilder(2).Steps(2).Build();
    slow.execution.checkpoint_seconds = 10;
    quick.batch = 8;
    quick.id = ComputeTrialId(quick);
    slow_ = slow.id;
    quick_ = quick.id;
    if (measured) {
      core_.costs = Costs(slow, 1, 1);
      core_.costs.Merge(Costs(quick, 1, 1));
    }
    core_.work_ends = time_ + left;
    Open(MakePlan({slow, quick}));
    Register(0, 2);
    Tick();
  }
  [[nodiscard]] bool Started(TrialId trial) const { return core_.fleet.Find(trial) != nullptr; }
  TrialId slow_, quick_;
};

TEST_F(TimeFitTest, StartsOnlyWhatReachesACheckpoint) {
  Start(5);
  EXPECT_FALSE(Started(slow_));
  EXPECT_TRUE(Started(quick_));
  EXPECT_THAT(RefuseByTime(core_, core_.Get(slow_), now()), HasSubstr("12 s away, and the run stops in 5 s"));
  EXPECT_EQ(FindTimeStop(core_, now()), "") << "something runs";
  Succeed(quick_);
  Tick();
  EXPECT_FALSE(Started(slow_));
  EXPECT_THAT(FindTimeStop(core_, now()), HasSubstr("too few for the next checkpoint"));
}

TEST_F(TimeFitTest, EnoughTimeStartsBoth) {
  Start(13);
  EXPECT_TRUE(Started(slow_));
  EXPECT_TRUE(Started(quick_));
}

TEST_F(TimeFitTest, UnknownCostStarts) {
  Start(5, false);
  EXPECT_TRUE(Started(slow_));
  EXPECT_TRUE(Started(quick_));
}

TEST_F(TimeFitTest, WithoutAnEndNothingIsKeptBack) {
  Start(5);
  core_.work_ends.reset();
  Tick();
  EXPECT_TRUE(Started(slow_));
  EXPECT_EQ(FindTimeStop(core_, now()), "");
}

class IdleSlotTest : public OrchestratorTest {
 protected:
  // On four slots.
  std::size_t CountIdle(SweepPlan plan) {
    Open(plan);
    Register(0, 4);
    Tick();
    return CountIdleSlots(core_, now());
  }
  static SweepPlan PlanTwo() { return MakePlan({TrialBuilder(1).Build(), TrialBuilder(2).Build()}); }
};

TEST_F(IdleSlotTest, SlotsThatNothingOfThePlanIsToHave) { EXPECT_EQ(CountIdle(PlanTwo()), 2U); }

TEST_F(IdleSlotTest, StudentThatWaitsForItsTeacherIsToHaveOne) {
  const TrialSpec teacher = TrialBuilder(1).Teacher("t").Build();
  EXPECT_EQ(CountIdle(MakePlan({teacher, TrialBuilder(2).Of(teacher).Build()})), 2U);
}

TEST_F(IdleSlotTest, QuotaLeavesFewer) {
  SweepPlan plan = PlanTwo();
  plan.quota.concurrency = 3;
  EXPECT_EQ(CountIdle(plan), 1U);
}

TEST_F(IdleSlotTest, QuotaOfTrialsThatHaveBegunLeavesNone) {
  SweepPlan plan = PlanTwo();
  plan.quota.trials = 2;
  EXPECT_EQ(CountIdle(plan), 0U);
}

TEST_F(IdleSlotTest, GangThatIsQueuedHasThemFirst) {
  EXPECT_EQ(CountIdle(MakePlan({TrialBuilder(1).Build(), TrialBuilder(2).Devices(4).Build()})), 0U);
}

TEST_F(IdleSlotTest, RunThatStopsHasNone) {
  ASSERT_EQ(CountIdle(PlanTwo()), 2U);
  Outbox outbox;
  OnStopRequested(core_, "a signal", 10, now(), outbox);
  EXPECT_EQ(CountIdleSlots(core_, now()), 0U);
}

}  // namespace
}  // namespace retort::orchestrator
