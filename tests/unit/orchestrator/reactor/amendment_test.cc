#include "orchestrator/reactor/amendment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/service/amend_results.h"
#include "orchestrator/service/publication.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using testing::FamilyPlan;
using testing::FaultInjectionEnv;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakePlan;
using testing::TrialBuilder;

// A core whose trials end as the test says, without a folder.
class AmendmentTest : public ::testing::Test {
 protected:
  void Start(const SweepPlan& plan) {
    plan_ = plan;
    Outbox outbox;
    ASSERT_TRUE(OpenSweep(core_, plan_, kNow, outbox).ok());
    OnMessage(core_, WorldRank{0}, {{}, {}, 0, cluster::Register{"node", 1, {"cpu"}, "", "", 1, ""}}, kNow, outbox);
    OnTick(core_, kNow, outbox);
  }
  void End(TrialId trial, bool succeeded) {
    const ActiveAttempt* attempt = core_.fleet.Find(trial);
    ASSERT_NE(attempt, nullptr);
    cluster::Ended ended;
    ended.succeeded = succeeded;
    ended.failure = succeeded ? FailureKind::none : FailureKind::not_finite;
    Outbox outbox;
    OnMessage(core_, WorldRank{0}, {attempt->id, attempt->generation, 0, ended}, kNow, outbox);
    WriteRows();
  }
  void WriteRows() {
    Outbox outbox;
    OnTick(core_, kNow, outbox);
  }
  Result<std::vector<TrialId>> Do(Amendment amendment, const std::vector<TrialId>& trials) {
    outbox_ = {};
    Result<std::vector<TrialId>> changed = Amend(core_, amendment, trials, kNow, outbox_);
    const Status legal = core_.CheckInvariants();
    EXPECT_TRUE(legal.ok()) << legal.message();
    return changed;
  }
  [[nodiscard]] TrialId Id(std::size_t index) const { return plan_.trials[index].id; }
  [[nodiscard]] TrialState GetState(std::size_t index) const { return core_.Get(Id(index)).state; }

  static constexpr Now kNow{1000, 1.7e9};
  SweepPlan plan_;
  Core core_{Settings{.results = "results", .provenance_json = "{}"}};
  Outbox outbox_;
};

TEST_F(AmendmentTest, TrialsOfASelectionAreRefused) {
  TrialSpec drawn = TrialBuilder(1).Build();
  drawn.draw = "0000000000000001 0000000000000002";
  Start(MakePlan({drawn}));
  End(drawn.id, false);
  for (const Amendment amendment : {Amendment::retry, Amendment::cancel})
    EXPECT_THAT(Do(amendment, {drawn.id}).status().message(), HasSubstr("another selection"));
  EXPECT_EQ(GetState(0), TrialState::failed);
}

TEST_F(AmendmentTest, RetryOfATeacherBringsItsStudentsBack) {
  Start(FamilyPlan(1, 2));
  End(Id(0), false);
  ASSERT_EQ(GetState(1), TrialState::parent_failed);
  core_.stop = StopRequest{};
  const auto changed = Do(Amendment::retry, {Id(0)});
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_THAT(*changed, ElementsAre(Id(0), Id(1), Id(2)));
  EXPECT_EQ(GetState(0), TrialState::queued);
  EXPECT_EQ(GetState(2), TrialState::waiting);
  EXPECT_TRUE(core_.Get(Id(0)).failures.empty());
}

TEST_F(AmendmentTest, RetryOfAStudentAloneNamesItsTeacher) {
  Start(FamilyPlan(1, 1));
  End(Id(0), false);
  const auto refused = Do(Amendment::retry, {Id(1)});
  EXPECT_EQ(refused.status().code(), StatusCode::refused);
  EXPECT_THAT(refused.status().message(), HasSubstr(plan_.trials[0].name));
  EXPECT_THAT(refused.status().message(), HasSubstr("retry the teacher"));
  EXPECT_TRUE(outbox_.empty());
  EXPECT_TRUE(Do(Amendment::retry, {Id(1), Id(0)}).ok()) << "both together are fine";
  EXPECT_EQ(GetState(1), TrialState::waiting);
}

TEST_F(AmendmentTest, WhatSucceededIsNeitherTriedAgainNorCancelled) {
  Start(FamilyPlan(2, 0));
  End(Id(0), true);
  EXPECT_THAT(Do(Amendment::retry, {Id(0)}).status().message(), HasSubstr("its row is final"));
  EXPECT_THAT(Do(Amendment::cancel, {Id(1), Id(0)}).status().message(), HasSubstr("has succeeded"));
  EXPECT_NE(GetState(1), TrialState::cancelled) << "all or nothing";
}

TEST_F(AmendmentTest, CancelledTeacherEndsItsStudentsWithRows) {
  Start(FamilyPlan(1, 1));
  core_.fleet.Vacate(Id(0));  // nobody runs the folder
  const auto changed = Do(Amendment::cancel, {Id(0)});
  ASSERT_TRUE(changed.ok());
  EXPECT_THAT(*changed, ElementsAre(Id(0), Id(1)));
  EXPECT_EQ(core_.Get(Id(0)).row->state, "cancelled");
  EXPECT_EQ(core_.Get(Id(1)).row->state, "parent-failed");
  const auto student = Do(Amendment::cancel, {Id(1)});
  ASSERT_TRUE(student.ok());
  EXPECT_EQ(core_.Get(Id(1)).row->state, "cancelled");
  EXPECT_TRUE(core_.AllFinal());
  EXPECT_EQ(ChooseSweepExitCode(core_), 0);
}

TEST_F(AmendmentTest, AskingTwiceChangesNothing) {
  Start(FamilyPlan(2, 0));
  core_.fleet.Vacate(Id(0));
  ASSERT_TRUE(Do(Amendment::cancel, {Id(0)}).ok());
  const auto again = Do(Amendment::cancel, {Id(0)});
  ASSERT_TRUE(again.ok());
  EXPECT_THAT(*again, IsEmpty());
  EXPECT_TRUE(outbox_.empty());
  ASSERT_TRUE(Do(Amendment::retry, {Id(0)}).ok());
  EXPECT_THAT(*Do(Amendment::retry, {Id(0)}), IsEmpty()) << "it is queued already";
}

TEST_F(AmendmentTest, ReplayGivesTheSameState) {
  Start(FamilyPlan(1, 1));
  End(Id(0), false);
  ASSERT_TRUE(Do(Amendment::cancel, {Id(1)}).ok());
  Outbox retry = outbox_;
  ASSERT_TRUE(Do(Amendment::retry, {Id(0), Id(1)}).ok());
  EXPECT_EQ(GetState(0), TrialState::queued);
  EXPECT_EQ(GetState(1), TrialState::waiting);
}

// The I/O around it, in a folder in memory.
class AmendResultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(env_.CreateDirectories("results").ok());
    options_.results = "results";
    Settings settings{.results = "results", .provenance_json = "{}"};
    Result<Recovered> owner = RecoverResults(env_, settings);
    ASSERT_TRUE(owner.ok());
    Outbox outbox;
    ASSERT_TRUE(OpenSweep(owner->core, plan_, kNow, outbox).ok());
    ASSERT_TRUE(CommitOutbox(*owner, outbox).ok());
    ASSERT_TRUE(PublishExitCode(env_, "results", 75).ok());
  }
  Result<std::vector<TrialId>> Do(const AmendmentOrder& order) { return AmendResults(env_, options_, order, kNow); }
  TrialState GetState(std::size_t index) {
    const Result<ResultsView> view = ReadResults(env_, "results");
    EXPECT_TRUE(view.ok());
    return view.ok() ? view->trials[index].state : TrialState::waiting;
  }

  static constexpr Now kNow{1000, 1.7e9};
  FaultInjectionEnv env_;
  SweepPlan plan_ = FamilyPlan(2, 0);
  RunOptions options_;
};

TEST_F(AmendResultsTest, HeldFolderIsRefusedAndUnchanged) {
  env_.Put(LockPath("results"), "");
  const auto lock = env_.Lock(LockPath("results"));
  ASSERT_TRUE(lock.ok());
  const auto refused = Do({Amendment::cancel, {plan_.trials[0].id}, false});
  EXPECT_EQ(refused.status().code(), StatusCode::environment);
  EXPECT_THAT(refused.status().message(), HasSubstr("locked"));
  EXPECT_EQ(GetState(0), TrialState::queued);
  EXPECT_TRUE(env_.Exists(GetExitCodePath("results")));
}

TEST_F(AmendResultsTest, UnknownTrialIsRefused) {
  EXPECT_EQ(Do({Amendment::cancel, {TrialId(5)}, false}).status().code(), StatusCode::refused);
}

TEST_F(AmendResultsTest, FailedFilesLetNothingThrough) {
  env_.FailAll(EnvironmentError("No space left on device"));
  EXPECT_FALSE(Do({Amendment::cancel, {plan_.trials[0].id}, false}).ok());
  env_.ClearFaults();
  EXPECT_EQ(GetState(0), TrialState::queued);
}

TEST_F(AmendResultsTest, DeathAtAnyOperationLeavesTheOldStateOrTheNew) {
  int died = 0;
  for (int operation = 0;; ++operation) {
    env_.Restart(testing::Crash::process_killed);
    env_.StopAt(operation);
    const TrialState before = GetState(0);
    const Amendment amendment = before == TrialState::cancelled ? Amendment::retry : Amendment::cancel;
    const auto changed = Do({amendment, {plan_.trials[0].id}, false});
    const bool stopped = env_.stopped();
    env_.Restart(testing::Crash::power_lost);
    const TrialState after = GetState(0);
    EXPECT_TRUE(after == TrialState::queued || after == TrialState::cancelled);
    EXPECT_TRUE(!changed.ok() || after != before) << "what was reported has happened";
    if (!stopped) break;
    ++died;
  }
  EXPECT_GT(died, 5);
}

}  // namespace
}  // namespace retort::orchestrator
