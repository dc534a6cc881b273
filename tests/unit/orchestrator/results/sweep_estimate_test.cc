#include "orchestrator/results/sweep_estimate.h"

#include <gtest/gtest.h>

#include "orchestrator/reactor/list_schedule.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using testing::TrialBuilder;

TimedTrial MakeTimed(double seconds, int devices = 1, std::size_t teacher = TimedTrial::kNoTeacher, int priority = 0,
                     bool running = false) {
  return {seconds, devices, priority, running, teacher};
}

TEST(Pace, ClockThatIsPutBackBeginsItAnew) {
  Pace pace;
  pace.Note(10, 1000);
  pace.Note(20, 1010);
  EXPECT_EQ(pace.SecondsPerStep(), 1);
  pace.Note(30, 100);
  EXPECT_EQ(pace.SecondsPerStep(), 0) << "not known yet";
  pace.Note(40, 120);
  EXPECT_EQ(pace.SecondsPerStep(), 2);
}

TEST(Makespan, JobsFillTheSlotsInTheirOrder) {
  EXPECT_EQ(ComputeMakespan({}, 2), 0);
  EXPECT_EQ(ComputeMakespan({MakeTimed(3), MakeTimed(2), MakeTimed(2)}, 1), 7);
  EXPECT_EQ(ComputeMakespan({MakeTimed(3), MakeTimed(2), MakeTimed(2)}, 2), 4);
  EXPECT_EQ(ComputeMakespan({MakeTimed(3), MakeTimed(2), MakeTimed(2)}, 2, 1), 7) << "one at once";
}

TEST(Makespan, StudentsWaitForTheirTeacher) {
  EXPECT_EQ(ComputeMakespan({MakeTimed(5), MakeTimed(1, 1, 0), MakeTimed(1, 1, 0), MakeTimed(2)}, 3), 6);
}

TEST(Makespan, GangTakesItsSlotsTogetherAndKeepsLaterJobsBack) {
  // 0 and 1 run; the gang waits for both, and the trial behind it does not pass.
  EXPECT_EQ(ComputeMakespan({MakeTimed(1), MakeTimed(4), MakeTimed(2, 2), MakeTimed(3)}, 2), 9);
  EXPECT_FALSE(ComputeMakespan({MakeTimed(1), MakeTimed(1, 3)}, 2)) << "it can never be placed";
}

TEST(Makespan, LargerPriorityGoesFirstAndWhatRunsHoldsItsSlot) {
  // Alone on one slot the long one first: the order does not change the sum; beside a teacher it does.
  EXPECT_EQ(ComputeMakespan({MakeTimed(4), MakeTimed(1, 1, TimedTrial::kNoTeacher, 5), MakeTimed(4, 1, 1)}, 2), 5);
  EXPECT_EQ(ComputeMakespan(
                {MakeTimed(1, 1, TimedTrial::kNoTeacher, 9), MakeTimed(6, 1, TimedTrial::kNoTeacher, 0, true)}, 1),
            7);
}

class SweepEstimateTest : public ::testing::Test {
 protected:
  // Each measured twice: 1 s a step and no start-up.
  void Measure(const TrialSpec& spec, const TrialSpec* teacher, double file = 0, double checkpoint = 0) {
    for (const char* trial : {"a", "b"}) {
      CostSample sample;
      sample.trial = trial;
      sample.unit_seconds = 1;
      sample.file_bytes = file;
      sample.checkpoint_bytes = checkpoint;
      costs_.Add(ComputeCostShape(spec, teacher), sample);
    }
  }
  CostModel costs_;
};

TEST_F(SweepEstimateTest, UnknownTrialMakesTheSweepUnknownAndIsCounted) {
  const TrialSpec known = TrialBuilder(1).Steps(10).Build();
  TrialSpec unknown = TrialBuilder(2).Build();
  unknown.batch = 7;
  Measure(known, nullptr);
  EXPECT_TRUE(EstimateSweep(costs_, {{&known, nullptr}}, 1));
  EXPECT_FALSE(EstimateSweep(costs_, {{&known, nullptr}, {&unknown, nullptr}}, 1));
  EXPECT_EQ(CountUnknown(costs_, {{&known, nullptr}, {&unknown, nullptr}}), 1U);
}

TEST_F(SweepEstimateTest, TeachersComeFirstAndSlotsShareTheRest) {
  TrialSpec teacher = TrialBuilder(1).Teacher("t").Build();
  teacher.epochs = 1;
  teacher.batch = 80;  // 10 steps for 800 rows
  const TrialSpec student = TrialBuilder(1).Of(teacher).Steps(30).Build();
  const TrialSpec other = TrialBuilder(2).Of(teacher).Steps(30).Build();
  Measure(teacher, nullptr);
  Measure(student, &teacher);
  const std::vector<PendingTrial> trials = {{&teacher, nullptr}, {&student, &teacher}, {&other, &teacher}};
  EXPECT_DOUBLE_EQ(EstimateSweep(costs_, trials, 1)->seconds.mean, 70);
  EXPECT_DOUBLE_EQ(EstimateSweep(costs_, trials, 4)->seconds.mean, 40);
  EXPECT_DOUBLE_EQ(EstimateSweep(costs_, trials, 4)->device_hours.mean, 70.0 / 3600);
}

TEST_F(SweepEstimateTest, IntervalHoldsTheMeanAndNarrowsWithTrials) {
  const TrialSpec spec = TrialBuilder(1).Steps(10).Build();
  Measure(spec, nullptr);
  const auto one = EstimateSweep(costs_, {{&spec, nullptr}}, 1);
  const auto many = EstimateSweep(costs_, std::vector<PendingTrial>(50, {&spec, nullptr}), 1);
  ASSERT_TRUE(one && many);
  EXPECT_LT(one->seconds.low, 10);
  EXPECT_GT(one->seconds.high, 10);
  EXPECT_LT(many->seconds.high / many->seconds.low, one->seconds.high / one->seconds.low);
  EXPECT_GT(many->seconds.high / many->seconds.low, 1.1) << "the mean itself is known from two trials only";
  EXPECT_EQ(EstimateSweep(costs_, {{&spec, nullptr}}, 1)->seconds.high, one->seconds.high);
}

TEST_F(SweepEstimateTest, WhatIsDoneIsLeftOut) {
  const TrialSpec spec = TrialBuilder(1).Steps(100).Build();
  Measure(spec, nullptr);
  EXPECT_DOUBLE_EQ(EstimateSweep(costs_, {{&spec, nullptr, 0.75, true}}, 1)->seconds.mean, 25);
}

TEST_F(SweepEstimateTest, GangsCostAllTheirDevices) {
  const TrialSpec spec = TrialBuilder(1).Steps(10).Devices(2).Build();
  Measure(spec, nullptr);
  EXPECT_DOUBLE_EQ(EstimateSweep(costs_, {{&spec, nullptr}}, 2)->device_hours.mean, 20.0 / 3600);
  EXPECT_FALSE(EstimateSweep(costs_, {{&spec, nullptr}}, 1));
}

TEST_F(SweepEstimateTest, DiskIsFilesThatStayAndCheckpointsOfWhatRunsAtOnce) {
  TrialSpec spec = TrialBuilder(1).Steps(10).Build();
  spec.execution.checkpoint_keep = 1;
  Measure(spec, nullptr, 1000, 50);
  const std::vector<PendingTrial> trials(3, {&spec, nullptr});
  EXPECT_EQ(EstimateSweep(costs_, trials, 2)->disk_bytes, 3000U + 2 * 2 * 50);
  CostModel unmeasured;
  CostSample sample;
  sample.trial = "a";
  sample.unit_seconds = 1;
  unmeasured.Add(ComputeCostShape(spec, nullptr), sample);
  EXPECT_FALSE(EstimateSweep(unmeasured, trials, 2)->disk_bytes);
}

TEST_F(SweepEstimateTest, WhatRunsTellsOfWhatIsLikeItBeforeAnythingHasEnded) {
  const TrialSpec running = TrialBuilder(1).Steps(100).Build(), queued = TrialBuilder(2).Steps(50).Build();
  PendingTrial first{&running, nullptr, 0.5, true};
  EXPECT_FALSE(EstimateSweep(costs_, {first, {&queued, nullptr}}, 1));
  Pace pace;
  pace.Note(10, 1000);
  pace.Note(50, 1080);
  SetPace(first, pace, 50, 100, 1090);
  const auto estimate = EstimateSweep(costs_, {first, {&queued, nullptr}}, 1);
  ASSERT_TRUE(estimate);
  EXPECT_TRUE(estimate->from_running);
  EXPECT_DOUBLE_EQ(estimate->seconds.mean, 50 * 2 - 10 + 50 * 2);
  EXPECT_LT(estimate->seconds.low, estimate->seconds.mean);
  EXPECT_DOUBLE_EQ(*EstimateSecondsLeft(costs_, first), 90);
  Measure(running, nullptr);
  EXPECT_DOUBLE_EQ(EstimateSweep(costs_, {first, {&queued, nullptr}}, 1)->seconds.mean, 90 + 50)
      << "its own pace for what runs, what ended for the rest";
}

TEST_F(SweepEstimateTest, TrialsThatSharedADeviceTakeTheirPartOfIt) {
  TrialSpec spec = TrialBuilder(1).Steps(10).Build();
  spec.execution.pack = PackMode::automatic;
  const std::vector<PendingTrial> four(4, PendingTrial{&spec, nullptr});
  TrialSpec alone = spec;
  alone.execution.pack = PackMode::off;
  Measure(alone, nullptr);
  const auto before = EstimateSweep(costs_, four, 1);
  ASSERT_TRUE(before) << "as if alone, until something is measured";
  EXPECT_TRUE(before->as_if_alone);
  EXPECT_DOUBLE_EQ(before->seconds.mean, 40);
  // Two at once take 1.5 s a step each: four trials need 30 s, not 60.
  const std::vector<std::pair<std::string, double>> timings = {{"seconds", 15}, {kDeviceShare, 0.5}};
  const auto sample = MakeSample(spec, timings, 10);
  ASSERT_TRUE(sample);
  costs_.Add(ComputeCostShape(spec, nullptr), *sample);
  const auto after = EstimateSweep(costs_, four, 1);
  EXPECT_FALSE(after->as_if_alone);
  EXPECT_DOUBLE_EQ(after->seconds.mean, 30);
  EXPECT_DOUBLE_EQ(costs_.For(spec, nullptr)->seconds, 15) << "a single trial does take that long";
  EXPECT_DOUBLE_EQ(costs_.For(alone, nullptr)->seconds, 10);
}

}  // namespace
}  // namespace retort::orchestrator
