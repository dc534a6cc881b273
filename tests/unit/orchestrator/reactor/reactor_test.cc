#include "orchestrator/reactor/reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/process/system_clock.h"
#include "orchestrator/reactor/scheduler.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using testing::FamilyPlan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakePlan;
using ::testing::SizeIs;
using testing::TrialBuilder;

class ReactorTest : public OrchestratorTest {
 protected:
  // One trial on one agent's only slot, leased.
  TrialId LeaseOne(TrialSpec spec = TrialBuilder(1).Build()) {
    Open(MakePlan({spec}));
    Register(0, 1);
    Tick();
    return spec.id;
  }
};

TEST_F(ReactorTest, LeaseIsJournaledWithTheMessageAndCarriesItsAttempt) {
  const TrialId trial = LeaseOne();
  EXPECT_EQ(CountJournaled<AttemptLeased>(), 1);
  const auto messages = TakeMessages();
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].envelope.attempt, (AttemptId{trial, 1}));
  EXPECT_EQ(messages[0].envelope.generation.value, 1U);
  const auto& lease = std::get<cluster::Lease>(messages[0].envelope.message);
  EXPECT_THAT(lease.start.attempt_directory, ::testing::EndsWith(trial.Hex() + "/attempt-1"));
  EXPECT_THAT(lease.start.trial_directory, ::testing::StartsWith("/results/trials/dpdfd-s1-"));
  EXPECT_EQ(GetState(trial), TrialState::leased);
}

TEST_F(ReactorTest, FirstWordOfTheWorkerMeansRunning) {
  const TrialId trial = LeaseOne();
  Say(trial, cluster::Progress{1, 10, "train", {}});
  EXPECT_EQ(GetState(trial), TrialState::running);
  EXPECT_EQ(CountJournaled<AttemptStarted>(), 1);
}

TEST_F(ReactorTest, ProgressIsJournaledRarely) {
  const TrialId trial = LeaseOne();
  for (int step = 1; step <= 100; ++step) {
    Say(trial, cluster::Progress{step, 100, "train", {}});
    Tick(0.1);
  }
  EXPECT_LE(CountJournaled<ProgressNoted>(), 2);
  EXPECT_EQ(core_.counters.steps, 99U);
}

TEST_F(ReactorTest, PhaseChangesDoNotFillTheJournal) {
  const TrialId trial = LeaseOne();
  for (int i = 0; i < 1000; ++i) {
    Say(trial, cluster::Progress{1, 100, i % 2 == 0 ? "a" : "b", {}});
    Tick(0.01);
  }
  EXPECT_GE(CountJournaled<ProgressNoted>(), 10);
  EXPECT_LE(CountJournaled<ProgressNoted>(), 20);
  // Nothing is left out for good.
  Tick(2);
  Say(trial, cluster::Progress{1, 100, "evaluate", {}});
  EXPECT_EQ(core_.Get(trial).phase, "evaluate");
}

TEST_F(ReactorTest, CheckpointThatIsSaidAgainAndAgainIsJournaledOnce) {
  const TrialId trial = LeaseOne(TrialBuilder(1).Deadline(30).Build());
  for (int i = 0; i < 100; ++i) Say(trial, cluster::CheckpointCommitted{4, "digest"});
  Say(trial, cluster::CheckpointCommitted{3, "digest"});
  Say(trial, cluster::CheckpointCommitted{-5, "digest"});
  EXPECT_EQ(CountJournaled<CheckpointNoted>(), 1);
  EXPECT_EQ(core_.Get(trial).saved_step, 4);
  EXPECT_EQ(core_.counters.stale, 101U);
  Say(trial, cluster::CheckpointCommitted{5, "digest"});
  EXPECT_EQ(core_.Get(trial).saved_step, 5);
  // The next attempt may find an earlier one: the newest was torn.
  Fail(trial, FailureKind::worker_killed);
  Tick(1);
  Tick(1);
  Say(trial, cluster::CheckpointCommitted{0, "digest"});
  EXPECT_EQ(core_.Get(trial).saved_step, 0);
}

TEST_F(ReactorTest, SuccessWritesTheRowAndEndsTheSweep) {
  const TrialId trial = LeaseOne();
  Succeed(trial);
  Tick();
  EXPECT_EQ(GetState(trial), TrialState::succeeded);
  ASSERT_TRUE(core_.Get(trial).row.has_value());
  EXPECT_EQ(core_.Get(trial).row->metrics[0].second, 0.9);
  EXPECT_FALSE(core_.Get(trial).row->row_digest.empty());
  EXPECT_FALSE(core_.Get(trial).row->claims.empty());
  EXPECT_TRUE(core_.ended);
  EXPECT_THAT(Take<cluster::Shutdown>(), SizeIs(2));
  EXPECT_EQ(ChooseSweepExitCode(core_), 0);
}

TEST_F(ReactorTest, StaleAttemptMessageIsDroppedAndCounted) {
  const TrialId trial = LeaseOne();
  const ActiveAttempt old = *core_.fleet.Find(trial);
  Fail(trial, FailureKind::worker_killed);
  Pass(1);
  ASSERT_EQ(core_.fleet.Find(trial)->id.number, 2U);
  const std::uint64_t stale = core_.counters.stale;
  cluster::Ended ended;
  ended.succeeded = true;
  Hear(0, {old.id, old.generation, 0, ended});
  EXPECT_EQ(core_.counters.stale, stale + 1);
  EXPECT_EQ(GetState(trial), TrialState::leased);
}

TEST_F(ReactorTest, MessageOfAnotherGenerationOrRankIsDropped) {
  const TrialId trial = LeaseOne();
  Register(1, 1);
  const ActiveAttempt attempt = *core_.fleet.Find(trial);
  Hear(0, {attempt.id, Generation{attempt.generation.value + 1}, 0, cluster::Progress{1, 10, "train", {}}});
  Hear(1, {attempt.id, attempt.generation, 0, cluster::Progress{1, 10, "train", {}}});
  EXPECT_EQ(core_.counters.stale, 2U);
  EXPECT_EQ(GetState(trial), TrialState::leased);
}

TEST_F(ReactorTest, MessageOfAnUnknownAgentIsDropped) {
  LeaseOne();
  Hear(5, {{}, {}, 0, cluster::Heartbeat{}});
  EXPECT_EQ(core_.counters.stale, 1U);
}

TEST_F(ReactorTest, AttemptNumbersAndGenerationsOnlyGrow) {
  const TrialId trial = LeaseOne();
  for (std::uint32_t attempt = 1; attempt <= 5; ++attempt) {
    ASSERT_EQ(core_.fleet.Find(trial)->id.number, attempt);
    ASSERT_EQ(core_.fleet.Find(trial)->generation.value, attempt);
    Fail(trial, FailureKind::worker_killed);
    Pass(10);
  }
}

TEST_F(ReactorTest, RetryWaitsForItsBackoff) {
  const TrialId trial = LeaseOne();
  Fail(trial, FailureKind::internal);  // 0.5 s
  Tick(0.1);
  EXPECT_EQ(GetState(trial), TrialState::queued);
  EXPECT_NEAR(FindNextDeadline(core_, now()), time_ + 0.4, 1e-6);
  Tick(0.5);
  EXPECT_EQ(GetState(trial), TrialState::leased);
}

TEST_F(ReactorTest, NextDeadlineIsTheFirstRetryThatLiesAhead) {
  std::vector<TrialSpec> specs;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    specs.push_back(TrialBuilder(seed).Teacher("t" + std::to_string(seed)).Build());
  Open(MakePlan(specs));
  Register(0, 3);
  Tick();
  Register(1, 1);
  for (const TrialSpec& spec : specs) {
    Fail(spec.id, FailureKind::internal);  // 0.5 s
    time_ += 0.1;
  }
  EXPECT_EQ(core_.retries().size(), 3U);
  EXPECT_NEAR(FindNextRetry(core_, now()), now().unix_seconds + 0.2, 1e-6);
  time_ += 0.25;  // one is due and has no slot yet
  EXPECT_NEAR(FindNextRetry(core_, now()), now().unix_seconds + 0.05, 1e-6);
  time_ += 10;
  EXPECT_EQ(FindNextRetry(core_, now()), 0);
  Tick();
  EXPECT_TRUE(core_.retries().empty());
}

TEST_F(ReactorTest, ClockThatIsPutBackHoldsNoRetryUp) {
  const TrialId trial = LeaseOne();
  Fail(trial, FailureKind::internal);
  clock_error_ = -86400;
  Tick(0.1);
  EXPECT_EQ(GetState(trial), TrialState::leased);
}

TEST_F(ReactorTest, ClockThatJumpsLosesNobodyAndEndsNothing) {
  const TrialId trial = LeaseOne();
  Say(trial, cluster::Progress{1, 10, "train", {}});
  for (const double error : {86400.0, -86400.0}) {
    clock_error_ = error;
    Pass(20);
    EXPECT_EQ(GetState(trial), TrialState::running);
    EXPECT_EQ(core_.fleet.CountLiveAgents(), 1);
  }
}

TEST_F(ReactorTest, TrialFailsForGoodAtTheCapOfItsFailure) {
  const TrialId trial = LeaseOne();
  Fail(trial, FailureKind::out_of_memory);
  Pass(3);
  Fail(trial, FailureKind::out_of_memory, "the device is full");
  Tick();
  EXPECT_EQ(GetState(trial), TrialState::failed);
  EXPECT_EQ(core_.Get(trial).row->failure, "out_of_memory");
  EXPECT_EQ(core_.Get(trial).row->detail, "the device is full");
  EXPECT_EQ(core_.Get(trial).row->attempts, 2U);
  EXPECT_EQ(ChooseSweepExitCode(core_), 1);
}

class HiddenReactorTest : public ReactorTest {
 protected:
  static Core MakeHidden() {
    Settings settings = TestSettings();
    settings.hidden = true;
    return Core(settings);
  }
  void SetUp() override { core_ = MakeHidden(); }
};

// Another attempt would be another draw of a private selection: it has other noise.
TEST_F(HiddenReactorTest, FailedTrialsAreNotTriedAgain) {
  for (const FailureKind kind : {FailureKind::worker_crash, FailureKind::worker_killed, FailureKind::out_of_memory,
                                 FailureKind::agent_lost, FailureKind::disk, FailureKind::device}) {
    core_ = MakeHidden();
    outbox_ = {};
    const TrialId trial = LeaseOne();
    Fail(trial, kind);
    Tick();
    EXPECT_EQ(GetState(trial), TrialState::failed) << GetFailureName(kind);
    EXPECT_EQ(core_.Get(trial).attempts, 1U);
  }
}

TEST_F(HiddenReactorTest, WhatWasSavedGoesOn) {
  const TrialId trial = LeaseOne();
  Fail(trial, FailureKind::stopped);
  EXPECT_EQ(GetState(trial), TrialState::queued);
}

TEST_F(ReactorTest, StudentsWaitForTheirTeacherAndGetItsFile) {
  const SweepPlan plan = FamilyPlan(1, 2);
  Open(plan);
  Register(0, 4);
  Tick();
  EXPECT_EQ(core_.CountIn(TrialState::leased), 1U);
  EXPECT_EQ(core_.CountIn(TrialState::waiting), 2U);
  Succeed(plan.trials[0].id);
  TakeMessages();
  Tick();
  const auto leases = Take<cluster::Lease>();
  ASSERT_THAT(leases, SizeIs(2));
  const cluster::Start& start = leases[0].second.start;
  EXPECT_EQ(start.teacher_file, "/results/trials/" + plan.trials[0].id.Hex() + "/attempt.h5");
  const storage::ResultRow& teacher = *core_.Get(plan.trials[0].id).row;
  EXPECT_EQ(start.teacher_parameters, teacher.parameters_digest);
  ASSERT_FALSE(teacher.claims.empty());
  ASSERT_THAT(start.teacher_claims, SizeIs(teacher.claims.size()));
  EXPECT_EQ(start.teacher_claims[0], privacy::EncodeClaim(teacher.claims[0]));
}

TEST_F(ReactorTest, StudentsOfAFailedTeacherEndParentFailedWithARow) {
  const SweepPlan plan = FamilyPlan(1, 2);
  Open(plan);
  Register(0, 1);
  Tick();
  Fail(plan.trials[0].id, FailureKind::not_finite);
  Tick();
  EXPECT_EQ(core_.CountIn(TrialState::parent_failed), 2U);
  EXPECT_EQ(core_.Get(plan.trials[1].id).row->state, "parent-failed");
  EXPECT_TRUE(core_.ended);
  EXPECT_EQ(ChooseSweepExitCode(core_), 1);
}

TEST_F(ReactorTest, HigherPriorityGoesFirstThenPlanOrder) {
  const TrialSpec a = TrialBuilder(1).Build(), b = TrialBuilder(2).Build();
  const TrialSpec urgent = TrialBuilder(3).Priority(5).Build();
  Open(MakePlan({a, b, urgent}));
  Register(0, 1);
  Tick();
  EXPECT_EQ(GetState(urgent.id), TrialState::leased);
  Succeed(urgent.id);
  Tick();
  EXPECT_EQ(GetState(a.id), TrialState::leased);
  EXPECT_EQ(GetState(b.id), TrialState::queued);
}

TEST_F(ReactorTest, LeasesSpreadOverTheRanks) {
  Open(FamilyPlan(3, 0));
  Register(0, 2);
  Register(1, 2);
  Tick();
  EXPECT_THAT(core_.fleet.AttemptsOn(WorldRank{0}), SizeIs(2));
  EXPECT_THAT(core_.fleet.AttemptsOn(WorldRank{1}), SizeIs(1));
}

TEST_F(ReactorTest, SilentAgentIsLostAndItsTrialGoesElsewhere) {
  const TrialId trial = LeaseOne();
  Tick(4);
  Register(1, 1);
  for (int i = 0; i < 3; ++i) {
    Tick(4);
    Hear(1, {{}, {}, 0, cluster::Heartbeat{}});
  }
  const ActiveAttempt* attempt = core_.fleet.Find(trial);
  EXPECT_EQ(core_.Get(trial).failure, FailureKind::agent_lost);
  Tick(1);
  attempt = core_.fleet.Find(trial);
  ASSERT_NE(attempt, nullptr);
  EXPECT_EQ(attempt->leader(), WorldRank{1});
  EXPECT_EQ(core_.fleet.CountLiveAgents(), 1);
}

TEST_F(ReactorTest, LostAgentThatSpeaksAgainGetsWork) {
  const TrialId trial = LeaseOne();
  for (int i = 0; i < 4; ++i) Tick(4);
  EXPECT_EQ(core_.fleet.CountLiveAgents(), 0);
  EXPECT_EQ(GetState(trial), TrialState::queued);
  Hear(0, {{}, {}, 0, cluster::Heartbeat{}});
  Tick(1);
  EXPECT_EQ(GetState(trial), TrialState::leased);
}

TEST_F(ReactorTest, StoppedOrchestratorBlamesNobodyForTheGap) {
  const TrialId trial = LeaseOne(TrialBuilder(1).Deadline(30).Build());
  Say(trial, cluster::Progress{1, 10, "train", {}});
  Tick(1);
  Tick(3600);
  EXPECT_EQ(GetState(trial), TrialState::running);
  EXPECT_EQ(core_.fleet.CountLiveAgents(), 1);
}

TEST_F(ReactorTest, SilenceAfterAGapIsNoticedAsSoonAsEver) {
  const TrialId trial = LeaseOne();
  Say(trial, cluster::Progress{1, 10, "train", {}});
  Tick(1);
  time_ += 600;  // the process was stopped; what agents said meanwhile is read first
  OnWake(core_, now());
  Say(trial, cluster::Progress{2, 10, "train", {}});
  Tick();
  EXPECT_EQ(core_.fleet.active().begin()->second.watch.allowed(), kSilenceFloorSeconds + kAgentWatchMarginSeconds);
  for (double silent = 0; silent < kAgentSilenceSeconds; ++silent) Tick(1);
  EXPECT_EQ(core_.Get(trial).failure, FailureKind::agent_lost);
}

TEST_F(ReactorTest, NothingIsLeasedBeforeAllAgentsHadTheirTime) {
  core_.may_lease = false;
  Open(FamilyPlan(2, 0));
  Register(0, 2);
  Tick();
  EXPECT_TRUE(core_.fleet.active().empty());
  core_.may_lease = true;
  Tick();
  EXPECT_THAT(core_.fleet.active(), SizeIs(2));
}

TEST_F(ReactorTest, WhatCameFromOutsideIsForgottenOnceTheTrialGetsOn) {
  const TrialId trial = LeaseOne(TrialBuilder(1).Steps(1000).Build());
  for (std::int64_t kill = 1; kill <= 60; ++kill) {
    for (int i = 0; i < 70 && core_.fleet.Find(trial) == nullptr; ++i) Pass(1);
    ASSERT_NE(core_.fleet.Find(trial), nullptr) << "after " << kill << " kills";
    Say(trial, cluster::CheckpointCommitted{kill * 10, "digest"});
    Say(trial, cluster::Progress{kill * 10 + 5, 1000, "train", {}});
    Fail(trial, kill % 2 == 0 ? FailureKind::worker_killed : FailureKind::agent_lost);
  }
  EXPECT_EQ(GetState(trial), TrialState::queued);
}

TEST_F(ReactorTest, WhatComesFromOutsideCountsWhileTheTrialStandsStill) {
  const TrialId trial = LeaseOne(TrialBuilder(1).Steps(1000).Build());
  int kills = 0;
  for (; GetState(trial) != TrialState::failed && kills < 100; ++kills) {
    for (int i = 0; i < 70 && core_.fleet.Find(trial) == nullptr; ++i) Pass(1);
    Say(trial, cluster::Progress{15, 1000, "train", {}});
    Say(trial, cluster::CheckpointCommitted{10, "digest"});
    Fail(trial, FailureKind::worker_killed);
  }
  EXPECT_EQ(kills, FindRetryRule(FailureKind::worker_killed).max_attempts);
}

TEST(RunClock, KeepsItsPaceWhenSomebodySetsTheClock) {
  Clocks system{50, 1.7e9, 80};
  const RunClock clock([&system] { return system; });
  system = {60, 1.7e9 + 86400, 90};  // ten seconds later, put forward by a day
  EXPECT_DOUBLE_EQ(clock.Read().unix_seconds, 1.7e9 + 10);
  EXPECT_DOUBLE_EQ(clock.Read().monotonic, 60);
  system = {60, 1.7e9 + 86400, 3690};  // the machine slept for an hour
  EXPECT_DOUBLE_EQ(clock.Read().unix_seconds, 1.7e9 + 3610);
}

TEST_F(ReactorTest, SilentAttemptIsEndedWhenItsAgentDoesNot) {
  const TrialId trial = LeaseOne(TrialBuilder(1).Deadline(10).Build());
  Say(trial, cluster::Progress{1, 10, "train", {}});
  TakeMessages();
  Pass(10 + kAgentWatchMarginSeconds - 2);
  EXPECT_EQ(GetState(trial), TrialState::running);
  Pass(3);
  EXPECT_EQ(core_.Get(trial).failure, FailureKind::worker_hang);
  EXPECT_FALSE(Take<cluster::Stop>().empty());
}

TEST_F(ReactorTest, AgentThatStartsAnewLosesItsAttempts) {
  const TrialId trial = LeaseOne();
  Register(0, 2, 1);
  EXPECT_EQ(core_.Get(trial).failure, FailureKind::agent_lost);
  EXPECT_EQ(GetState(trial), TrialState::queued);
  EXPECT_THAT(core_.fleet.FreeSeats(), SizeIs(2));
}

TEST_F(ReactorTest, LostWorkerFreesItsSlotForTheNextTrial) {
  Open(FamilyPlan(2, 0));
  Register(0, 1);
  Tick();
  const TrialId first = core_.fleet.active().begin()->first;
  Say(first, cluster::WorkerLost{FailureKind::worker_crash, "SIGSEGV"});
  Tick();
  ASSERT_THAT(core_.fleet.active(), SizeIs(1));
  EXPECT_NE(core_.fleet.active().begin()->first, first);
  EXPECT_EQ(core_.counters.failures.at(FailureKind::worker_crash), 1U);
}

TEST_F(ReactorTest, StopDrainsAgentsAndSavesTheState) {
  Open(FamilyPlan(2, 0));
  Register(0, 1);
  Tick();
  const TrialId trial = core_.fleet.active().begin()->first;
  TakeMessages();
  OnStopRequested(core_, "SIGTERM", 20, now(), outbox_);
  EXPECT_THAT(Take<cluster::Drain>(), SizeIs(1));
  Tick(1);
  EXPECT_FALSE(core_.ended);
  Fail(trial, FailureKind::stopped);
  Tick(1);
  EXPECT_TRUE(core_.ended);
  EXPECT_EQ(GetState(trial), TrialState::queued);
  EXPECT_EQ(CountJournaled<AttemptLeased>(), 1);
  EXPECT_EQ(CountJournaled<SweepInterrupted>(), 1);
  EXPECT_EQ(ChooseSweepExitCode(core_), 75);
}

TEST_F(ReactorTest, StopDoesNotWaitLongerThanItsGrace) {
  LeaseOne();
  OnStopRequested(core_, "SIGTERM", 5, now(), outbox_);
  Tick(4);
  EXPECT_FALSE(core_.ended);
  Tick(4);
  EXPECT_TRUE(core_.ended);
}

TEST_F(ReactorTest, TrialThatEndsWellWhileStoppingCounts) {
  const TrialId trial = LeaseOne();
  OnStopRequested(core_, "SIGTERM", 20, now(), outbox_);
  Succeed(trial);
  Tick(1);
  EXPECT_TRUE(core_.ended);
  EXPECT_EQ(ChooseSweepExitCode(core_), 0);
}

TEST_F(ReactorTest, AgentThatRegistersWhileStoppingIsDrained) {
  LeaseOne();
  OnStopRequested(core_, "SIGTERM", 20, now(), outbox_);
  TakeMessages();
  Register(1, 1, 2);
  const auto drains = Take<cluster::Drain>();
  ASSERT_THAT(drains, SizeIs(1));
  EXPECT_NEAR(drains[0].second.deadline_seconds, 18, 1e-9);
}

TEST_F(ReactorTest, SignalledRankStopsTheWholeSweep) {
  LeaseOne();
  Register(1, 1);
  TakeMessages();
  Hear(1, {{}, {}, 0, cluster::Drain{true, 7}});
  EXPECT_TRUE(core_.stop.has_value());
  EXPECT_THAT(Take<cluster::Drain>(), SizeIs(2));
}

}  // namespace
}  // namespace retort::orchestrator
