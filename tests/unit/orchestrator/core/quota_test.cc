#include "orchestrator/core/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/reactor.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using testing::FamilyPlan;
using ::testing::HasSubstr;

constexpr TrialId kTrial(7), kOther(8);

JournalEvent Leased(double at, TrialId trial, int devices = 1) {
  AttemptLeased leased;
  leased.attempt = {trial, 1};
  for (int i = 0; i < devices; ++i) leased.members.emplace_back(0, i);
  return {at, leased};
}
JournalEvent Ended(double at, TrialId trial) {
  AttemptEnded ended;
  ended.attempt = {trial, 1};
  return {at, ended};
}

TEST(Usage, WallIsTheTimeOfRunsNotTheTimeBetween) {
  Usage usage;
  usage.On({100, SweepOpened{}});
  usage.On(Leased(110, kTrial));
  usage.On(Ended(130, kTrial));
  EXPECT_EQ(usage.WallSeconds(500, false), 30);
  EXPECT_EQ(usage.WallSeconds(150, true), 50);
  usage.On({400, TrialReopened{kTrial}});  // an amendment between runs takes no time
  usage.On({1000, RunStarted{}});
  EXPECT_EQ(usage.WallSeconds(1010, true), 40);
}

TEST(Usage, DeadAttemptsUseDevicesUntilTheirRunEnds) {
  Usage usage;
  usage.On({0, SweepOpened{}});
  usage.On(Leased(10, kTrial, 2));
  usage.On(Leased(10, kOther));
  EXPECT_EQ(usage.active(), 2);
  EXPECT_EQ(usage.DeviceSeconds(20, true), 30);
  usage.On(Ended(30, kTrial));
  EXPECT_EQ(usage.DeviceSeconds(30, true), 60);
  usage.On({900, RunStarted{}});  // kOther died with the last word of its orchestrator
  EXPECT_EQ(usage.DeviceSeconds(900, true), 60);
  EXPECT_EQ(usage.active(), 0);
  EXPECT_EQ(usage.trials(), 2);
}

// At 300 the clock was put back by 200 s; the journal goes on from 100.
TEST(Usage, ClockThatIsPutBackTakesNoTimeAndHidesNone) {
  Usage usage;
  usage.On({200, SweepOpened{}});
  usage.On(Leased(210, kTrial));
  usage.On(Ended(300, kTrial));
  usage.On(Leased(100, kOther, 2));
  EXPECT_EQ(usage.WallSeconds(110, true), 110);
  EXPECT_EQ(usage.DeviceSeconds(110, true), 90 + 2 * 10);
  EXPECT_EQ(usage.DeviceSeconds(500, false), 90) << "nothing more was heard of it";
  usage.On(Ended(150, kOther));
  EXPECT_EQ(usage.WallSeconds(500, false), 150);
  EXPECT_EQ(usage.DeviceSeconds(500, false), 90 + 2 * 50);
  usage.On({120, RunStarted{}});  // the next run's clock is as it is
  EXPECT_EQ(usage.WallSeconds(130, true), 160);
}

TEST(Quota, EveryCapRefusesInItsOwnWords) {
  Usage usage;
  usage.On({0, SweepOpened{}});
  usage.On(Leased(0, kTrial));
  const auto refuse = [&usage](const Quota& quota, double now, TrialId trial = kOther) {
    return RefuseByQuota(quota, usage, trial, now);
  };
  EXPECT_EQ(refuse({}, 1e9), "");
  EXPECT_THAT(refuse({.trials = 1}, 1), HasSubstr("1 trials"));
  EXPECT_EQ(refuse({.trials = 1}, 1, kTrial), "") << "a retry is no new trial";
  EXPECT_THAT(refuse({.concurrency = 1}, 1), HasSubstr("at once"));
  EXPECT_EQ(refuse({.wall_seconds = 60}, 59), "");
  EXPECT_THAT(refuse({.wall_seconds = 60}, 60), HasSubstr("wall clock"));
  EXPECT_THAT(refuse({.device_hours = 0.5}, 1800), HasSubstr("device-hours"));
}

// A run with eight slots.
class QuotaRun : public ::testing::Test {
 protected:
  void Start(const Quota& quota, int trials = 4) {
    plan_ = FamilyPlan(trials, 0);
    plan_.quota = quota;
    ASSERT_TRUE(OpenSweep(core_, plan_, now(), outbox_).ok());
    OnMessage(core_, WorldRank{0},
              {{}, {}, 0, cluster::Register{"node", 8, std::vector<std::string>(8, "cpu"), "", "", 1, ""}}, now(),
              outbox_);
    OnTick(core_, now(), outbox_);
  }
  void EndAll() {
    std::vector<ActiveAttempt> active;
    for (const auto& [id, attempt] : core_.fleet.active()) active.push_back(attempt);
    cluster::Ended ended;
    ended.succeeded = true;
    for (const ActiveAttempt& attempt : active)
      OnMessage(core_, WorldRank{0}, {attempt.id, attempt.generation, 0, ended}, now(), outbox_);
    OnTick(core_, now(), outbox_);
    EXPECT_TRUE(core_.CheckInvariants().ok());
  }
  [[nodiscard]] Now now() const { return {time_, 1.7e9 + time_}; }

  double time_ = 100;
  SweepPlan plan_;
  Core core_{Settings{.results = "results", .provenance_json = "{}"}};
  Outbox outbox_;
};

TEST_F(QuotaRun, ConcurrencyLeavesDevicesFreeAndNothingOut) {
  Start({.concurrency = 3});
  EXPECT_EQ(core_.fleet.active().size(), 3U);
  EXPECT_EQ(FindQuotaStop(core_, now()), "");
  EndAll();
  EXPECT_EQ(core_.fleet.active().size(), 1U);
  EndAll();
  EXPECT_TRUE(core_.AllFinal());
  EXPECT_EQ(ChooseSweepExitCode(core_), 0);
}

TEST_F(QuotaRun, CapOnTrialsEndsTheRunOnceNothingMoreMayStart) {
  Start({.trials = 3});
  EXPECT_EQ(core_.fleet.active().size(), 3U);
  EXPECT_EQ(FindQuotaStop(core_, now()), "") << "three are running";
  EndAll();
  EXPECT_EQ(core_.fleet.active().size(), 0U);
  EXPECT_THAT(FindQuotaStop(core_, now()), HasSubstr("3 trials"));
}

TEST_F(QuotaRun, BegunTrialGoesOnPastTheCap) {
  Start({.trials = 3});
  const ActiveAttempt failed = core_.fleet.active().begin()->second;
  cluster::Ended ended;
  ended.failure = FailureKind::worker_killed;
  OnMessage(core_, WorldRank{0}, {failed.id, failed.generation, 0, ended}, now(), outbox_);
  EXPECT_EQ(core_.ready_begun(), 1U);
  for (int i = 0; i < 100; ++i) {
    time_ += 0.1;
    OnTick(core_, now(), outbox_);
  }
  EXPECT_NE(core_.fleet.Find(failed.id.trial), nullptr);
  EXPECT_EQ(core_.fleet.active().size(), 3U) << "nobody new";
  EXPECT_TRUE(core_.CheckInvariants().ok());
}

TEST_F(QuotaRun, WallClockStopsWhatRuns) {
  Start({.wall_seconds = 60});
  time_ += 59;
  EXPECT_EQ(FindQuotaStop(core_, now()), "");
  time_ += 1;
  EXPECT_THAT(FindQuotaStop(core_, now()), HasSubstr("wall clock"));
}

TEST_F(QuotaRun, LargerPriorityIsPlacedFirst) {
  SweepPlan plan = FamilyPlan(3, 0);
  plan.trials[2].execution.priority = 5;
  plan.quota.concurrency = 1;
  ASSERT_TRUE(OpenSweep(core_, plan, now(), outbox_).ok());
  OnMessage(core_, WorldRank{0}, {{}, {}, 0, cluster::Register{"node", 1, {"cpu"}, "", "", 1, ""}}, now(), outbox_);
  OnTick(core_, now(), outbox_);
  EXPECT_NE(core_.fleet.Find(plan.trials[2].id), nullptr);
}

}  // namespace
}  // namespace retort::orchestrator
