// How a sweep that nobody runs stands, kept beside its journal: it says what the journal would, and is believed no
// longer than that.
#include "orchestrator/results/sweep_summary.h"
#include "orchestrator/cli/render/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/results/audit_store.h"
#include "storage/log/privacy_ledger.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/finished_sweep.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;

constexpr char kProgram[] = "0.1.0 (1f3a9c2e)";
constexpr double kNowSeconds = 1.8e9;

class Summary : public ::testing::Test {
 protected:
  Summary() : results_(folder_.path() + "/sweep") {
    EXPECT_TRUE(env_.CreateDirectories(results_).ok());
    Commit([](Journal& journal) { return retort::testing::WriteFinishedSweep(journal, 3); });
    Commit([](Journal& journal) { return journal.Commit(FailedTrial()); });
    auto ledger = storage::PrivacyLedger::Open(env_, GetLedgerPath(results_));
    EXPECT_TRUE((*ledger)->Reserve(Spec(0).data->digest, {Spec(0).id, 1}, 1, Votes()).ok());
  }

  static TrialSpec Spec(std::int64_t index) { return retort::testing::SweptTrial(index, retort::testing::SmallData()); }

  static privacy::PrivacyEvent Votes() {
    privacy::PrivacyEvent event = retort::testing::VoteEvent(300);
    event.facts = privacy::ListNeededFacts(event.kind);
    return event;
  }

  static std::vector<JournalEvent> FailedTrial() {
    PlanAdopted adopted;
    for (std::int64_t i = 0; i < 4; ++i) adopted.order.push_back(Spec(i).id);
    AttemptEnded ended;
    ended.attempt = {Spec(3).id, 1};
    ended.failure = FailureKind::not_finite;
    ended.detail = "loss is NaN at step 3";
    return {{1.71e9, MakeTrialPlanned(Spec(3))},
            {1.71e9, std::move(adopted)},
            {1.71e9, AttemptLeased{ended.attempt, Generation{9}, {{0, 0}}}},
            {1.71e9, AttemptStarted{ended.attempt}},
            {1.71e9, ended}};
  }

  template <typename Write>
  void Commit(const Write& write) {
    Core core({.results = results_, .provenance_json = {}});
    auto journal = Journal::Open(env_, results_, core);
    ASSERT_TRUE(journal.ok()) << journal.status().message();
    ASSERT_TRUE(write(*journal).ok());
  }

  // The trial that failed is to run again.
  void Reopen() {
    Commit([](Journal& journal) { return journal.Commit({{1.72e9, TrialReopened{Spec(3).id}}}); });
  }

  [[nodiscard]] std::optional<SweepSummary> Read(const std::string& program = kProgram) {
    const std::optional<std::string> sources = ComputeSummarySources(env_, results_, costs_);
    return sources ? ReadSummary(env_, results_, *sources, program) : std::nullopt;
  }
  void Keep() { ASSERT_TRUE(StoreSummary(env_, results_, costs_, kProgram, 0).ok()); }
  [[nodiscard]] bool Believed() { return Read().has_value(); }

  std::string Shown(const SweepStatus& status) {
    return FormatStatusText(status, kNowSeconds, 100) + FormatStatusJson(status) +
           FormatFinalStatusText(status, kNowSeconds, 40);
  }
  std::string ShownFromJournal() {
    const ResultsView view = ReadPacked(env_, results_).value();
    const RootCharges root = ReadRoot(env_, view);
    return Shown(ComputeStatus(view, ReadKnownCosts(costs_, &view), kNowSeconds, &root));
  }
  std::string ShownFromSummary() {
    std::optional<SweepSummary> summary = Read();
    if (!summary) return "";
    EXPECT_THAT(summary->view.trials, ::testing::IsEmpty());
    const RootCharges root =
        ReadRoot(env_, results_, summary->digests, summary->view.unpacked, {}, summary->view.noted_root);
    EXPECT_TRUE(root.sweeps.empty() && root.trouble.empty());
    for (DataSpending& spent : summary->trials.spending) spent.root = root.directory;
    return Shown(MakeSweepStatus(summary->view, std::move(summary->trials), {}, kNowSeconds));
  }

  retort::testing::TemporaryDirectory folder_;
  storage::Env& env_ = storage::PosixEnv();
  std::string results_;
  CostCache costs_{.path = folder_.path() + "/costs.json", .machine = "a laptop", .costs = {}, .warning = {}};
};

TEST_F(Summary, SaysWhatTheJournalSays) {
  Keep();
  const std::string shown = ShownFromSummary();
  EXPECT_EQ(shown, ShownFromJournal());
  EXPECT_THAT(shown, HasSubstr("not_finite (loss is NaN at step 3)"));
  EXPECT_THAT(shown, HasSubstr("over 1 trial"));
}

TEST_F(Summary, OfASweepThatStoppedSaysWhatTheJournalSays) {
  Reopen();
  Keep();
  const std::string shown = ShownFromSummary();
  EXPECT_EQ(shown, ShownFromJournal());
  EXPECT_THAT(shown, HasSubstr("nobody is running this sweep"));
  EXPECT_THAT(shown, HasSubstr("Time left: about 13 s on 1 slot"));
}

TEST_F(Summary, EstimatesTheTimeLeftFromWhatOtherSweepsMeasuredToo) {
  Reopen();
  const std::string alone = ShownFromJournal();
  CostSample sample;
  sample.trial = "another";
  sample.unit_seconds = 20;
  sample.file_bytes = 3e6;
  costs_.costs.Add(ComputeCostShape(Spec(3), nullptr), sample);
  Keep();
  const std::string shown = ShownFromSummary();
  EXPECT_EQ(shown, ShownFromJournal());
  EXPECT_NE(shown, alone);
}

TEST_F(Summary, IsNotBelievedOnceOtherCostsAreKnown) {
  ASSERT_TRUE(env_.WriteFileAtomically(costs_.path, "{}").ok());
  Keep();
  ASSERT_TRUE(Believed());
  costs_.machine = "another machine";
  EXPECT_FALSE(Believed());
  costs_.machine = "a laptop";
  ASSERT_TRUE(Believed());
  ASSERT_TRUE(env_.WriteFileAtomically(costs_.path, "{ }").ok());
  EXPECT_FALSE(Believed());
}

TEST_F(Summary, IsNotKeptWhileATrialWaitsToBeTriedAgain) {
  Reopen();
  const std::optional<std::string> sources = ComputeSummarySources(env_, results_, costs_);
  ResultsView view = ReadPacked(env_, results_).value();
  view.trials.back().retry_at = kNowSeconds + 5;
  ASSERT_TRUE(StoreSummary(env_, *sources, view, ComputeTrialsStatus(view), kProgram, 0).ok());
  EXPECT_FALSE(env_.Exists(FindSummaryPath(results_)));
  view.trials.back().retry_at = 0;
  ASSERT_TRUE(StoreSummary(env_, *sources, view, ComputeTrialsStatus(view), kProgram, 0).ok());
  EXPECT_TRUE(Believed());
}

TEST_F(Summary, IsNotBelievedOnceTheJournalHasGrown) {
  Keep();
  ASSERT_TRUE(Believed());
  Reopen();
  EXPECT_FALSE(Believed());
}

TEST_F(Summary, IsNotBelievedOnceTheLedgerHasGrownOrGone) {
  Keep();
  {
    auto ledger = storage::PrivacyLedger::Open(env_, GetLedgerPath(results_));
    ASSERT_TRUE((*ledger)->Reserve(Spec(1).data->digest, {Spec(1).id, 1}, 2, Votes()).ok());
  }
  EXPECT_FALSE(Believed());
  Keep();
  EXPECT_TRUE(Believed());
  ASSERT_TRUE(env_.Remove(GetLedgerPath(results_)).ok());
  EXPECT_FALSE(Believed());
}

TEST_F(Summary, IsIgnoredForAnotherJournalOfTheSameLength) {
  Keep();
  std::fstream journal(GetJournalPath(results_), std::ios::in | std::ios::out | std::ios::binary);
  journal.seekp(100);
  journal.put('\x55');
  journal.close();
  EXPECT_FALSE(Believed());
}

TEST_F(Summary, IsNotBelievedOnceAnAuditIsStored) {
  Keep();
  const ResultsView view = ReadResults(env_, results_).value();
  ASSERT_TRUE(StoreAudit(env_, results_, view.trials[0], {}).ok());
  EXPECT_FALSE(Believed());
  ASSERT_TRUE(env_.Remove(FindSummaryPath(results_)).ok());
  Keep();
  EXPECT_FALSE(env_.Exists(FindSummaryPath(results_)));
}

TEST_F(Summary, IsNotBelievedWhileSomebodyRunsTheSweep) {
  Keep();
  const auto lock = LockFolder(env_, results_);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(Believed());
}

TEST_F(Summary, OfAnotherProgramOrWithAnyByteChangedIsNotBelieved) {
  Keep();
  EXPECT_FALSE(Read("0.1.1").has_value());
  const std::string whole = env_.ReadFile(FindSummaryPath(results_)).value();
  for (std::size_t at = 0; at < whole.size(); at += 41) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    ASSERT_TRUE(env_.WriteFileAtomically(FindSummaryPath(results_), changed).ok());
    EXPECT_FALSE(Believed()) << "byte " << at;
    ASSERT_TRUE(env_.WriteFileAtomically(FindSummaryPath(results_), whole.substr(0, at)).ok());
    EXPECT_FALSE(Believed()) << "cut at " << at;
  }
}

TEST_F(Summary, IsKeptOfLargeJournalsAlone) {
  ASSERT_TRUE(StoreSummary(env_, results_, costs_, kProgram).ok());
  EXPECT_FALSE(env_.Exists(FindSummaryPath(results_)));
}

TEST(SummaryElsewhere, NeedsAFileSystemThatTellsOneStateFromAnother) {
  retort::testing::FaultInjectionEnv env;
  ASSERT_TRUE(env.CreateDirectories("sweep").ok());
  Core core({.results = "sweep", .provenance_json = {}});
  auto journal = Journal::Open(env, "sweep", core);
  ASSERT_TRUE(retort::testing::WriteFinishedSweep(*journal, 3).ok());
  ASSERT_TRUE(StoreSummary(env, "sweep", {}, kProgram, 0).ok());
  EXPECT_FALSE(env.Exists(FindSummaryPath("sweep")));
}

}  // namespace
}  // namespace retort::orchestrator::cli
