#include "orchestrator/service/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orchestrator/journal/journal.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/service/publication.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/checkpoint_store.h"
#include "storage/results/hdf5_reader.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/finished_sweep.h"
#include "tests/testing/storage_samples.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kResults[] = "results";
constexpr std::int64_t kTrials = 4;

// A finished sweep with a ledger, and a trial that was interrupted with two checkpoints.
class RepairTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(env_.CreateDirectories(kResults).ok());
    {
      Core core(Settings{.results = kResults, .provenance_json = {}});
      Result<Journal> journal = Journal::Open(env_, kResults, core);
      ASSERT_TRUE(journal.ok());
      ASSERT_TRUE(testing::WriteFinishedSweep(*journal, kTrials).ok());
      auto ledger = storage::PrivacyLedger::Open(env_, GetLedgerPath(kResults));
      ASSERT_TRUE(ledger.ok());
      for (std::uint32_t n = 1; n <= 3; ++n)
        ASSERT_TRUE((*ledger)->Reserve(std::string(64, 'd'), {Spec(0).id, n}, n, testing::VoteEvent(8)).ok());
    }
    for (std::int64_t i = 0; i < kTrials; ++i) PutAttemptFile(i);
    auto store = storage::CheckpointStore::Open(env_, TrialPath(1), 2);
    ASSERT_TRUE(store.ok());
    for (const std::int64_t step : {5, 7})
      ASSERT_TRUE((*store)->Commit({step, {testing::FloatBlob("w", {1, 2, 3})}, {{"at", std::to_string(step)}}}).ok());
    ASSERT_TRUE((*store)->AppendReleased({7, {testing::FloatBlob("y", {4})}}).ok());
  }
  static TrialSpec Spec(std::int64_t index) { return testing::SweptTrial(index, testing::SmallData()); }
  static std::string TrialPath(std::int64_t index) {
    return std::string(kResults) + "/" + GetTrialDirectory(Spec(index));
  }
  void PutAttemptFile(std::int64_t index) {
    ASSERT_TRUE(env_.CreateDirectories(TrialPath(index) + "/attempt-1").ok());
    const std::string image = "stands for HDF5";
    env_.Put(TrialPath(index) + "/attempt-1/attempt.h5", image + storage::MakeSeal(image));
  }
  RepairPlan Plan() {
    Result<RepairPlan> plan = PlanRepair(env_, kResults);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? std::move(*plan) : RepairPlan();
  }
  std::string Apply(const RepairPlan& plan) {
    const Result<std::string> quarantine = ApplyRepair(env_, kResults, plan);
    EXPECT_TRUE(quarantine.ok()) << quarantine.status().message();
    return quarantine.ok() ? *quarantine : "";
  }
  void Flip(const std::string& path, std::size_t at) { env_.Bytes(path)[at] ^= 0x10; }
  std::string Checkpoint(const std::string& name) const { return TrialPath(1) + "/attempt-2/" + name; }

  testing::FaultInjectionEnv env_;
};

const RepairItem* FindItem(const RepairPlan& plan, const std::string& where) {
  const auto found = std::find_if(plan.items.begin(), plan.items.end(),
                                  [&](const RepairItem& item) { return item.where.ends_with(where); });
  return found == plan.items.end() ? nullptr : &*found;
}

TEST_F(RepairTest, SoundFolderNeedsNone) {
  const RepairPlan plan = Plan();
  EXPECT_THAT(plan.items, IsEmpty()) << plan.items.front().where << ": " << plan.items.front().what;
  EXPECT_THAT(plan.notes, IsEmpty());
  EXPECT_EQ(Apply(plan), "");
}

TEST_F(RepairTest, ADamagedJournalBecomesItsWholePrefixAndIsKeptAside) {
  const std::string path = GetJournalPath(kResults), before = env_.Bytes(path);
  Flip(path, before.size() / 2);
  const std::string damaged = env_.Bytes(path);
  ASSERT_FALSE(ReadResults(env_, kResults).ok());
  const RepairPlan plan = Plan();
  const RepairItem* journal = FindItem(plan, "journal.log");
  ASSERT_NE(journal, nullptr);
  EXPECT_EQ(journal->action, RepairAction::rewrite);
  EXPECT_THAT(journal->what, HasSubstr("at byte"));
  EXPECT_EQ(env_.Bytes(path), damaged) << "planning reads only";
  const std::string quarantine = Apply(plan);
  EXPECT_EQ(quarantine, "quarantine-1");
  EXPECT_EQ(env_.Bytes(std::string(kResults) + "/quarantine-1/journal.log"), damaged);
  EXPECT_EQ(before.compare(0, env_.Bytes(path).size(), env_.Bytes(path)), 0) << "a prefix of what was written";
  const Result<ResultsView> view = ReadResults(env_, kResults);
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_THAT(view->trials, SizeIs(kTrials));
  EXPECT_EQ(view->ledger.size(), 3U) << "what was charged stays charged";
  EXPECT_TRUE(env_.Exists(std::string(kResults) + "/results.h5"));
  EXPECT_THAT(Plan().items, IsEmpty());
}

TEST_F(RepairTest, AnIllegalEventEndsThePrefix) {
  {
    auto log = storage::RecordLog::Open(env_, GetJournalPath(kResults), storage::LogKind::journal);
    ASSERT_TRUE(log.ok());
    (*log)->Append(static_cast<std::uint16_t>(EventType::attempt_started),
                   EncodeEvent({1, AttemptStarted{{TrialId(99), 1}}}));
    ASSERT_TRUE((*log)->Sync().ok());
  }
  const RepairPlan plan = Plan();
  ASSERT_NE(FindItem(plan, "journal.log"), nullptr);
  EXPECT_THAT(FindItem(plan, "journal.log")->what, HasSubstr("never planned"));
  Apply(plan);
  EXPECT_THAT(Plan().items, IsEmpty());
}

TEST_F(RepairTest, ATornTailIsCutAndKeptAside) {
  const std::string path = GetJournalPath(kResults);
  const std::string whole = env_.Bytes(path);
  env_.Bytes(path) += std::string("\x20\x00\x00\x00torn", 8);
  const RepairPlan plan = Plan();
  ASSERT_NE(FindItem(plan, "journal.log"), nullptr);
  EXPECT_THAT(FindItem(plan, "journal.log")->what, HasSubstr("8 bytes of an unfinished record"));
  Apply(plan);
  EXPECT_EQ(env_.Bytes(path), whole);
}

TEST_F(RepairTest, ADamagedHeaderLosesNoRecord) {
  const std::string journal = env_.Bytes(GetJournalPath(kResults)), ledger = env_.Bytes(GetLedgerPath(kResults));
  Flip(GetJournalPath(kResults), 3);
  Flip(GetLedgerPath(kResults), 13);
  const RepairPlan plan = Plan();
  EXPECT_EQ(plan.BeyondRepair(), 0U);
  Apply(plan);
  EXPECT_EQ(env_.Bytes(GetJournalPath(kResults)), journal);
  EXPECT_EQ(env_.Bytes(GetLedgerPath(kResults)), ledger);
}

TEST_F(RepairTest, ALedgerThatLostARecordIsNeverMadeToCountLess) {
  const std::string path = GetLedgerPath(kResults);
  Flip(path, env_.Bytes(path).size() / 2);
  const std::string damaged = env_.Bytes(path);
  const RepairPlan plan = Plan();
  ASSERT_NE(FindItem(plan, "ledger.log"), nullptr);
  EXPECT_EQ(FindItem(plan, "ledger.log")->action, RepairAction::none);
  EXPECT_THAT(FindItem(plan, "ledger.log")->remedy, HasSubstr("copy"));
  EXPECT_EQ(plan.BeyondRepair(), 1U);
  Apply(plan);
  EXPECT_EQ(env_.Bytes(path), damaged);
}

TEST_F(RepairTest, LedgerBehindTheJournalIsBeyondRepair) {
  {
    auto log = storage::RecordLog::Open(env_, GetJournalPath(kResults), storage::LogKind::journal);
    ASSERT_TRUE(log.ok());
    (*log)->Append(static_cast<std::uint16_t>(EventType::ledger_noted), EncodeEvent({1, LedgerNoted{3}}));
    ASSERT_TRUE((*log)->Sync().ok());
  }
  EXPECT_THAT(Plan().items, IsEmpty());
  std::string& ledger = env_.Bytes(GetLedgerPath(kResults));
  ledger.resize(ledger.size() / 2);
  const std::string cut = ledger;
  const RepairPlan plan = Plan();
  ASSERT_NE(FindItem(plan, "ledger.log"), nullptr);
  EXPECT_EQ(FindItem(plan, "ledger.log")->action, RepairAction::none);
  EXPECT_THAT(FindItem(plan, "ledger.log")->what, HasSubstr("of the 3 reservations"));
  Apply(plan);
  EXPECT_EQ(env_.Bytes(GetLedgerPath(kResults)), cut);
  ASSERT_TRUE(env_.Remove(GetLedgerPath(kResults)).ok());
  EXPECT_EQ(Plan().BeyondRepair(), 1U);
}

TEST_F(RepairTest, TornCheckpointIsReplacedByTheOneBefore) {
  Flip(Checkpoint("checkpoint-7.h5"), 100);
  const std::string torn = env_.Bytes(Checkpoint("checkpoint-7.h5"));
  const RepairPlan plan = Plan();
  ASSERT_NE(FindItem(plan, "checkpoint-7.h5"), nullptr);
  const std::string quarantine = Apply(plan);
  EXPECT_FALSE(env_.Exists(Checkpoint("checkpoint-7.h5")));
  EXPECT_EQ(env_.Bytes(std::string(kResults) + "/" + quarantine + "/" + GetTrialDirectory(Spec(1)) +
                       "/attempt-2/checkpoint-7.h5"),
            torn);
  auto store = storage::CheckpointStore::Open(env_, TrialPath(1), 3);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((**(*store)->Latest()).step, 5);
}

TEST_F(RepairTest, LeftoversAreKeptAside) {
  env_.Put(Checkpoint("checkpoint-9.h5"), "without a record");
  env_.Put(Checkpoint("checkpoint-8.h5.tmp"), "half");
  const RepairPlan plan = Plan();
  EXPECT_THAT(plan.items, SizeIs(2));
  Apply(plan);
  EXPECT_FALSE(env_.Exists(Checkpoint("checkpoint-9.h5")));
  EXPECT_FALSE(env_.Exists(Checkpoint("checkpoint-8.h5.tmp")));
  EXPECT_TRUE(env_.Exists(Checkpoint("checkpoint-7.h5")));
}

TEST_F(RepairTest, AnAttemptWithADamagedManifestGoesAsideAsAWhole) {
  Flip(Checkpoint("manifest.log"), 40);
  const RepairPlan plan = Plan();
  Apply(plan);
  EXPECT_THAT(*env_.List(TrialPath(1) + "/attempt-2"), IsEmpty());
  EXPECT_THAT(Plan().items, IsEmpty());
}

TEST_F(RepairTest, ADamagedTranscriptIsSaidToCostItsReleasesAgain) {
  Flip(Checkpoint("transcript-0.log"), 4);
  const RepairPlan plan = Plan();
  ASSERT_NE(FindItem(plan, "transcript-0.log"), nullptr);
  EXPECT_THAT(FindItem(plan, "transcript-0.log")->remedy, HasSubstr("charged again"));
}

TEST_F(RepairTest, ARowsFileIsBeyondRepairWhenDamagedOrMissing) {
  Flip(TrialPath(0) + "/attempt-1/attempt.h5", 3);
  ASSERT_TRUE(env_.Remove(TrialPath(2) + "/attempt-1/attempt.h5").ok());
  const RepairPlan plan = Plan();
  EXPECT_EQ(plan.BeyondRepair(), 2U);
  EXPECT_EQ(Apply(plan), "") << "nothing is moved";
}

TEST_F(RepairTest, ATrialThatTheJournalDoesNotKnowIsNoted) {
  ASSERT_TRUE(env_.CreateDirectories(std::string(kResults) + "/trials/stranger/attempt-1").ok());
  const RepairPlan plan = Plan();
  EXPECT_THAT(plan.items, IsEmpty());
  ASSERT_THAT(plan.notes, SizeIs(1));
  EXPECT_THAT(plan.notes[0], HasSubstr("stranger"));
}

TEST_F(RepairTest, AStopAtAnyOperationLosesNothing) {
  using testing::Crash;
  Flip(GetJournalPath(kResults), env_.Bytes(GetJournalPath(kResults)).size() / 2);
  Flip(Checkpoint("checkpoint-7.h5"), 100);
  const RepairPlan plan = Plan();
  const std::string journal = env_.Bytes(GetJournalPath(kResults)), torn = env_.Bytes(Checkpoint("checkpoint-7.h5"));
  for (int stop = 0; stop < 40; ++stop) {
    testing::FaultInjectionEnv env = env_;
    env.Restart(Crash::process_killed);
    env.StopAt(stop);
    (void)ApplyRepair(env, kResults, plan);
    env.Restart(Crash::process_killed);
    const auto holds = [&](const std::string& file, const std::string& bytes) {
      for (const std::string& at :
           {std::string(kResults) + "/" + file, std::string(kResults) + "/quarantine-1/" + file})
        if (env.Exists(at) && env.Bytes(at) == bytes) return true;
      return false;
    };
    EXPECT_TRUE(holds("journal.log", journal)) << stop;
    EXPECT_TRUE(holds(GetTrialDirectory(Spec(1)) + "/attempt-2/checkpoint-7.h5", torn)) << stop;
  }
}

TEST_F(RepairTest, ALostResultFileIsMadeAnewOnceARunHasEnded) {
  ASSERT_TRUE(env_.Remove(std::string(kResults) + "/results.h5").ok());
  env_.Put(GetExitCodePath(kResults), "0");
  const RepairPlan plan = Plan();
  ASSERT_EQ(plan.items.size(), 1U);
  EXPECT_EQ(plan.items[0].where, "results.h5");
  EXPECT_EQ(plan.items[0].action, RepairAction::make_anew);
  EXPECT_EQ(plan.BeyondRepair(), 0U);
}

TEST_F(RepairTest, FolderOfANewerFormatIsRefused) {
  {
    auto log = storage::RecordLog::Open(env_, GetJournalPath(kResults), storage::LogKind::journal);
    ASSERT_TRUE(log.ok());
    (*log)->Append(static_cast<std::uint16_t>(EventType::sweep_opened),
                   EncodeEvent({1, SweepOpened{kResultsFormatVersion + 1, "swept", "", "{}"}}));
    ASSERT_TRUE((*log)->Sync().ok());
  }
  EXPECT_EQ(PlanRepair(env_, kResults).status().code(), StatusCode::usage);
}

}  // namespace
}  // namespace retort::orchestrator
