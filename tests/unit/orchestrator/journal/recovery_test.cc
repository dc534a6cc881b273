#include "orchestrator/journal/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "orchestrator/reactor/amendment.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/results/results_view.h"
#include "storage/log/record_log.h"
#include "tests/testing/failing_reads_env.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using testing::FamilyPlan;
using testing::FaultInjectionEnv;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakePlan;
using ::testing::SizeIs;
using testing::TrialBuilder;

// A results folder in memory that several orchestrators own one after the other.
class RecoveryTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(env_.CreateDirectories("results").ok()); }

  [[nodiscard]] Now now() const { return {time_, 1.7e9 + time_}; }
  // A new orchestrator takes the folder over.
  void Own() {
    owner_.reset();
    Settings settings;
    settings.results = "results";
    settings.provenance_json = "{}";
    Result<Recovered> recovered = RecoverResults(env_, settings);
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    owner_.emplace(std::move(*recovered));
  }
  [[nodiscard]] Core& core() { return owner_->core; }
  Status Open(const SweepPlan& plan) {
    Outbox outbox;
    const Status status = OpenSweep(core(), plan, now(), outbox);
    return status.ok() ? CommitOutbox(*owner_, outbox) : status;
  }
  void Start(const SweepPlan& plan) {
    Own();
    const Status status = Open(plan);
    ASSERT_TRUE(status.ok()) << status.message();
    Register();
  }
  void Register() {
    cluster::Register message{"node", 8, std::vector<std::string>(8, "cpu"), "", "", 1, ""};
    Hear({{}, {}, 0, message});
    Do([](Core& core, Now now, Outbox& outbox) { OnTick(core, now, outbox); });
  }
  void Hear(const cluster::Envelope& envelope) {
    Do([&](Core& core, Now now, Outbox& outbox) { OnMessage(core, WorldRank{0}, envelope, now, outbox); });
  }
  template <typename F>
  void Do(F act) {
    Outbox outbox;
    act(core(), now(), outbox);
    ASSERT_TRUE(CommitOutbox(*owner_, outbox).ok());
    const Status legal = core().CheckInvariants();
    EXPECT_TRUE(legal.ok()) << legal.message();
  }
  void End(TrialId trial, bool succeeded, FailureKind failure = FailureKind::none) {
    const ActiveAttempt* attempt = core().fleet.Find(trial);
    ASSERT_NE(attempt, nullptr);
    cluster::Ended ended;
    ended.succeeded = succeeded;
    ended.failure = failure;
    ended.file = "attempt.h5";
    Hear({attempt->id, attempt->generation, 0, ended});
    Do([](Core& core, Now now, Outbox& outbox) { OnTick(core, now, outbox); });
  }
  // Grants of one draw each to the trial's worker.
  void Grant(TrialId trial, int count) {
    for (int i = 0; i < count; ++i) {
      const ActiveAttempt* attempt = core().fleet.Find(trial);
      ASSERT_NE(attempt, nullptr);
      Hear({attempt->id, attempt->generation, 0, cluster::Reserve{++request_, testing::VoteEvent(1), 1}});
    }
  }
  std::string& LedgerBytes() { return env_.Bytes(GetLedgerPath("results")); }
  // Where record `index` of the ledger begins.
  std::uint64_t RecordOffset(std::size_t index) {
    return storage::ReadRecordLog(env_, GetLedgerPath("results"), storage::LogKind::ledger)
        .value()
        .records.at(index)
        .offset;
  }
  Status Recover() {
    owner_.reset();
    return RecoverResults(env_, Settings{.results = "results", .provenance_json = "{}"}).status();
  }
  std::uint64_t JournalBytes() { return env_.Bytes(GetJournalPath("results")).size(); }

  FaultInjectionEnv env_;
  std::optional<Recovered> owner_;
  double time_ = 1000;
  std::uint64_t request_ = 0;
};

TEST_F(RecoveryTest, AttemptsOfADeadOrchestratorAreQueuedAndNumbersGrow) {
  const SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  ASSERT_EQ(core().Get(plan.trials[0].id).state, TrialState::leased);
  Own();
  EXPECT_EQ(core().Get(plan.trials[0].id).state, TrialState::leased);
  ASSERT_TRUE(Open(plan).ok());
  EXPECT_EQ(core().Get(plan.trials[0].id).state, TrialState::queued);
  Register();
  EXPECT_EQ(core().fleet.Find(plan.trials[0].id)->id.number, 2U);
  EXPECT_EQ(core().fleet.Find(plan.trials[0].id)->generation.value, 2U);
}

// Grants of the old numbers are still in the ledger and in the attempt's folder.
TEST_F(RecoveryTest, NumbersThatAMendedJournalForgotAreNotGivenAgain) {
  const SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  Start(plan);
  Grant(plan.trials[0].id, 1);
  owner_.reset();
  ASSERT_TRUE(env_.Remove(GetJournalPath("results")).ok());
  Start(plan);
  EXPECT_EQ(core().fleet.Find(plan.trials[0].id)->id.number, 3U);
  EXPECT_EQ(core().fleet.Find(plan.trials[0].id)->generation.value, 3U);
}

// Both logs were removed, and another plan has begun: what the trial of before drew is charged nowhere.
TEST_F(RecoveryTest, TrialThatNeitherLogKnowsLeavesTheTotalUnknown) {
  const SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  const std::string attempt = "results/" + core().Get(plan.trials[0].id).folder + "/attempt-1";
  ASSERT_TRUE(env_.CreateDirectories(attempt).ok());
  ASSERT_TRUE(env_.CreateDirectories("results/trials/somebody-elses/attempt-1").ok());
  env_.Put(attempt + "/manifest.log", "");
  env_.Put("results/trials/somebody-elses/attempt-1/manifest.log", "");
  EXPECT_EQ(ReadResults(env_, "results")->ledger_lost, "");
  owner_.reset();
  for (const std::string& log : {GetJournalPath("results"), GetLedgerPath("results")})
    ASSERT_TRUE(env_.Remove(log).ok());
  Own();
  EXPECT_THAT(core().ledger_lost, HasSubstr(plan.trials[0].id.Hex() + " is of a trial that neither journal.log nor"));
  EXPECT_EQ(ReadResults(env_, "results")->ledger_lost, core().ledger_lost);
  ASSERT_TRUE(Open(plan).ok());
  ASSERT_TRUE(NoteLostTrials(env_, core()).ok());
  EXPECT_EQ(core().ledger_lost, "") << "planned again, it is looked at again";
}

TEST_F(RecoveryTest, DyingOftenIsNotATrialsFailure) {
  const SweepPlan plan = FamilyPlan(1, 0);
  for (int i = 0; i < 50; ++i) Start(plan);
  EXPECT_EQ(core().Get(plan.trials[0].id).state, TrialState::leased);
  EXPECT_EQ(core().Get(plan.trials[0].id).attempts, 50U);
  EXPECT_TRUE(core().Get(plan.trials[0].id).failures.empty());
}

TEST_F(RecoveryTest, FinishedSweepLeavesNoTraceWhenRunAgain) {
  const SweepPlan plan = FamilyPlan(1, 1);
  Start(plan);
  End(plan.trials[0].id, true);
  End(plan.trials[1].id, true);
  ASSERT_TRUE(core().AllFinal());
  const std::uint64_t bytes = JournalBytes();
  Own();
  ASSERT_TRUE(Open(plan).ok());
  EXPECT_TRUE(core().AllFinal());
  EXPECT_EQ(JournalBytes(), bytes);
}

TEST_F(RecoveryTest, EditedSweepRunsOnlyWhatIsNew) {
  SweepPlan plan = FamilyPlan(1, 1);
  Start(plan);
  End(plan.trials[0].id, true);
  End(plan.trials[1].id, true);
  SweepPlan edited = plan;
  edited.trials.pop_back();
  edited.trials.push_back(TrialBuilder(77).Of(plan.trials[0]).Build());
  edited.resolved_toml += "# edited\n";
  Start(edited);
  EXPECT_EQ(core().CountIn(TrialState::succeeded), 1U);
  EXPECT_EQ(core().CountIn(TrialState::leased), 1U);
  EXPECT_NE(core().Find(plan.trials[1].id), nullptr) << "out of the plan, still known";
  // And back: the row is there without another attempt.
  End(edited.trials[1].id, true);
  Start(plan);
  EXPECT_TRUE(core().AllFinal());
  EXPECT_EQ(core().Get(plan.trials[1].id).attempts, 1U);
}

TEST_F(RecoveryTest, TrialsThatLeftThePlanAreNotRun) {
  SweepPlan plan = FamilyPlan(2, 0);
  Own();
  ASSERT_TRUE(Open(plan).ok());
  SweepPlan edited = plan;
  edited.trials.erase(edited.trials.begin());
  Start(edited);
  EXPECT_EQ(core().Get(plan.trials[0].id).state, TrialState::queued);
  EXPECT_EQ(core().fleet.active().size(), 1U);
}

TEST_F(RecoveryTest, FieldsOutsideTheIdentityFollowTheSweepFile) {
  SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  plan.trials[0].execution.priority = 9;
  plan.trials[0].execution.deadline_seconds = 77;
  ASSERT_EQ(ComputeTrialId(plan.trials[0]), plan.trials[0].id);
  Start(plan);
  EXPECT_EQ(core().Get(plan.trials[0].id).spec.execution.deadline_seconds, 77);
  EXPECT_EQ(core().plan().size(), 1U);
}

TEST_F(RecoveryTest, FolderKeepsTheNameOfTheFirstLease) {
  SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  const std::string folder = core().Get(plan.trials[0].id).folder;
  EXPECT_EQ(folder, "trials/teacher-t0-s0-" + plan.trials[0].id.Hex());
  plan.trials[0].name = "shown-otherwise";
  Start(plan);
  EXPECT_EQ(core().Get(plan.trials[0].id).spec.name, "shown-otherwise");
  EXPECT_EQ(core().Get(plan.trials[0].id).folder, folder) << "its checkpoints are there";
}

TEST_F(RecoveryTest, RowsOwedByADeadOrchestratorAreWritten) {
  const SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  const ActiveAttempt attempt = *core().fleet.Find(plan.trials[0].id);
  cluster::Ended ended;
  ended.succeeded = true;
  Hear({attempt.id, attempt.generation, 0, ended});  // and dies before the row
  ASSERT_FALSE(core().Get(plan.trials[0].id).row.has_value());
  Own();
  ASSERT_TRUE(Open(plan).ok());
  EXPECT_TRUE(core().Get(plan.trials[0].id).row.has_value());
  Own();
  EXPECT_TRUE(core().Get(plan.trials[0].id).row.has_value());
}

TEST_F(RecoveryTest, ReopenedTrialsRunAgainWithTheirStudents) {
  const SweepPlan plan = FamilyPlan(1, 2);
  Start(plan);
  End(plan.trials[0].id, false, FailureKind::not_finite);
  ASSERT_EQ(core().CountIn(TrialState::parent_failed), 2U);
  Own();
  ASSERT_TRUE(Open(plan).ok());
  Do([&](Core& core, Now now, Outbox& outbox) {
    ASSERT_TRUE(Amend(core, Amendment::retry, ListFailedTrials(core), now, outbox).ok());
  });
  EXPECT_EQ(core().CountIn(TrialState::queued), 1U);
  EXPECT_EQ(core().CountIn(TrialState::waiting), 2U);
  Register();
  End(plan.trials[0].id, true);
  EXPECT_EQ(core().CountIn(TrialState::leased), 2U);
  EXPECT_EQ(core().Get(plan.trials[0].id).row->state, "succeeded");
  EXPECT_EQ(core().Get(plan.trials[0].id).row->attempts, 2U);
}

TEST_F(RecoveryTest, TrialsEndedByTheDiskComeBack) {
  const SweepPlan plan = FamilyPlan(1, 2);
  Start(plan);
  for (int attempt = 0; attempt < FindRetryRule(FailureKind::disk).max_attempts; ++attempt) {
    time_ += 30;  // past the back-off
    Do([](Core& core, Now now, Outbox& outbox) { OnTick(core, now, outbox); });
    End(plan.trials[0].id, false, FailureKind::disk);
  }
  ASSERT_EQ(core().CountIn(TrialState::parent_failed), 2U);
  EXPECT_EQ(ChooseSweepExitCode(core()), 3);
  Own();
  ASSERT_TRUE(Open(plan).ok());
  EXPECT_EQ(ListFailedByDisk(core()), std::vector<TrialId>{plan.trials[0].id});
  Do([&](Core& core, Now now, Outbox& outbox) {
    ASSERT_TRUE(Amend(core, Amendment::retry, ListFailedByDisk(core), now, outbox).ok());
  });
  EXPECT_EQ(core().CountIn(TrialState::queued), 1U);
  EXPECT_EQ(core().CountIn(TrialState::waiting), 2U);
  Register();
  End(plan.trials[0].id, false, FailureKind::not_finite);
  EXPECT_TRUE(ListFailedByDisk(core()).empty());
  EXPECT_EQ(ChooseSweepExitCode(core()), 1);
}

TEST_F(RecoveryTest, SweepOfAnotherNameIsRefused) {
  Start(FamilyPlan(1, 0));
  Own();
  const Status status = Open(MakePlan({TrialBuilder(1).Build()}, "another"));
  EXPECT_EQ(status.code(), StatusCode::usage);
  EXPECT_THAT(status.message(), HasSubstr("--results"));
}

TEST_F(RecoveryTest, FolderOfAnotherFormatIsAUsageError) {
  Start(FamilyPlan(1, 0));
  Outbox outbox;
  outbox.journal.push_back({0, SweepOpened{kResultsFormatVersion + 1, "tested", "", "{}"}});
  ASSERT_TRUE(owner_->journal.Commit(outbox.journal).ok());
  owner_.reset();
  const Result<Recovered> recovered = RecoverResults(env_, Settings{.results = "results", .provenance_json = {}});
  EXPECT_EQ(recovered.status().code(), StatusCode::usage);
  EXPECT_THAT(recovered.status().message(), HasSubstr("format 3"));
}

TEST_F(RecoveryTest, JournalThatContradictsItselfIsDamageWithItsOffset) {
  Start(FamilyPlan(1, 0));
  Outbox outbox;
  outbox.journal.push_back({0, AttemptStarted{{TrialId(42), 1}}});
  const std::uint64_t offset = JournalBytes();
  ASSERT_TRUE(owner_->journal.Commit(outbox.journal).ok());
  owner_.reset();
  const Result<Recovered> recovered = RecoverResults(env_, Settings{.results = "results", .provenance_json = {}});
  EXPECT_EQ(recovered.status().code(), StatusCode::damage);
  EXPECT_THAT(recovered.status().message(), HasSubstr(std::to_string(offset)));
}

TEST_F(RecoveryTest, LedgerThatIsGoneIsRefusedAndNotBegunAnew) {
  const SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  Grant(plan.trials[0].id, 3);
  ASSERT_TRUE(env_.Remove(GetLedgerPath("results")).ok());
  const Status status = Recover();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("ledger.log holds 0 of the 3 reservations"));
  EXPECT_THAT(status.message(), HasSubstr("copy"));
  EXPECT_FALSE(env_.Exists(GetLedgerPath("results")));
  EXPECT_THAT(ReadResults(env_, "results")->ledger_lost, HasSubstr("0 of the 3"));
}

// A cut anywhere before the last acknowledged reservation is no torn tail.
TEST_F(RecoveryTest, LedgerCutShortIsRefusedAsItIs) {
  const SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  Grant(plan.trials[0].id, 3);
  const std::string whole = LedgerBytes();
  for (const std::uint64_t size :
       {RecordOffset(1), RecordOffset(1) + 7, RecordOffset(2), std::uint64_t{whole.size() - 1}}) {
    LedgerBytes() = whole.substr(0, size);
    EXPECT_EQ(Recover().code(), StatusCode::environment) << size;
    EXPECT_EQ(LedgerBytes().size(), size) << "nothing is cut or appended";
  }
  LedgerBytes() = whole;
  EXPECT_TRUE(Recover().ok());
}

TEST_F(RecoveryTest, LedgerTornInAReservationThatNobodyWasToldOfGoesOn) {
  const SweepPlan plan = FamilyPlan(1, 0);
  Start(plan);
  Grant(plan.trials[0].id, 2);
  const std::string acknowledged = LedgerBytes();
  ASSERT_TRUE(owner_->ledger->Reserve(std::string(64, 'd'), {plan.trials[0].id, 1}, 1, testing::VoteEvent(1)).ok());
  LedgerBytes().pop_back();  // it died before the journal, and so the worker, knew
  EXPECT_TRUE(Recover().ok());
  EXPECT_EQ(LedgerBytes(), acknowledged);
  EXPECT_THAT(ReadResults(env_, "results")->ledger_lost, IsEmpty());
}

TEST_F(RecoveryTest, LedgerOfAnOlderFolderIsNotedByTheNextRun) {
  const SweepPlan plan = FamilyPlan(1, 0);
  {
    auto ledger = storage::PrivacyLedger::Open(env_, GetLedgerPath("results"));
    ASSERT_TRUE((*ledger)->Reserve(std::string(64, 'd'), {plan.trials[0].id, 1}, 1, testing::VoteEvent(1)).ok());
  }
  Start(plan);
  EXPECT_EQ(core().ledger_noted(), 1U);
  ASSERT_TRUE(env_.Remove(GetLedgerPath("results")).ok());
  EXPECT_EQ(Recover().code(), StatusCode::environment);
}

TEST_F(RecoveryTest, ReaderSeesTrialsInPlanOrderWithoutTheLock) {
  const SweepPlan plan = FamilyPlan(1, 2);
  Start(plan);
  Result<ResultsView> view = ReadResults(env_, "results");
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->sweep, "tested");
  ASSERT_THAT(view->trials, SizeIs(3));
  EXPECT_EQ(view->trials[1].spec.id, plan.trials[1].id);
  EXPECT_FALSE(view->running);
  EXPECT_EQ(view->trials[0].state, TrialState::queued) << "nobody works on it";
  env_.Put(LockPath("results"), "");
  const auto lock = env_.Lock(LockPath("results"));
  ASSERT_TRUE(lock.ok());
  view = ReadResults(env_, "results");
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view->running);
  EXPECT_EQ(view->trials[0].state, TrialState::leased);
}

TEST_F(RecoveryTest, ReaderOfEveryPlanSeesBehindTheNewestWhatItHasNot) {
  const SweepPlan plan = FamilyPlan(1, 1);
  Start(plan);
  End(plan.trials[0].id, true);
  End(plan.trials[1].id, true);
  SweepPlan edited = plan;
  edited.trials[1] = TrialBuilder(77).Of(plan.trials[0]).Build();
  edited.resolved_toml += "# edited\n";
  Start(edited);
  ASSERT_THAT(ReadResults(env_, "results")->trials, SizeIs(2));
  const Result<ResultsView> view = ReadResults(env_, "results", Plans::every);
  ASSERT_TRUE(view.ok()) << view.status().message();
  ASSERT_THAT(view->trials, SizeIs(3));
  EXPECT_EQ(view->trials[1].spec.id, edited.trials[1].id);
  EXPECT_EQ(view->trials[2].spec.id, plan.trials[1].id);
  EXPECT_EQ(view->trials[2].state, TrialState::succeeded);
  EXPECT_TRUE(HasRow(view->trials[2]));
}

TEST_F(RecoveryTest, ReaderOfAnEmptyFolderSaysWhatToDo) {
  const Result<ResultsView> view = ReadResults(env_, "results");
  EXPECT_EQ(view.status().code(), StatusCode::environment);
  EXPECT_THAT(view.status().message(), HasSubstr("--results"));
}

TEST(TrialFoldersTest, ThoseThatFailToBeListedAreNotNone) {
  const testing::TemporaryDirectory results;
  EXPECT_TRUE(ListTrialFolders(storage::PosixEnv(), results.path())->empty());
  ASSERT_TRUE(storage::PosixEnv().CreateDirectories(results / "trials").ok());
  for (const int error : {EIO, ELOOP, ENOTDIR, EACCES}) {
    testing::FailingReadsEnv env("/trials", error);
    EXPECT_EQ(ListTrialFolders(env, results.path()).status().code(), StatusCode::environment) << error;
  }
}

}  // namespace
}  // namespace retort::orchestrator
