// Budgets over a results root: what other sweeps charged counts, and what cannot be known stops the run.
#include "orchestrator/results/results_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orchestrator/journal/journal.h"
#include "orchestrator/results/audit_store.h"
#include "storage/log/privacy_ledger.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/finished_sweep.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using testing::FaultInjectionEnv;
using ::testing::HasSubstr;
using testing::MakePlan;
using testing::SmallData;
using testing::TrialBuilder;
using testing::VoteEvent;

constexpr char kOwn[] = "results/own";

class NeighboursTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(env_.CreateDirectories(kOwn).ok()); }

  static std::shared_ptr<DataSpec> Data(bool budget, char digest = 'd') {
    auto data = SmallData();
    data->digest = std::string(64, digest);
    if (budget) data->budget = Budget{1, 1e-5};
    return data;
  }
  static SweepPlan Plan(const std::shared_ptr<const DataSpec>& data) {
    SweepPlan plan = MakePlan({TrialBuilder(1).With(data).Build()});
    plan.data = {data};
    return plan;
  }
  // A sweep of one trial that charged `draws` votes.
  std::string Sweep(const std::string& name, const std::shared_ptr<const DataSpec>& data, std::int64_t draws) {
    const std::string folder = "results/" + name;
    EXPECT_TRUE(env_.CreateDirectories(folder).ok());
    const TrialSpec spec = TrialBuilder(7).With(data).Build();
    Core core(Settings{.results = folder, .provenance_json = "{}"});
    auto journal = Journal::Open(env_, folder, core);
    EXPECT_TRUE(journal.ok());
    EXPECT_TRUE(journal
                    ->Commit({{1.0, SweepOpened{kResultsFormatVersion, name, "retort = 1\n", "{}"}},
                              {1.0, MakeTrialPlanned(spec)},
                              {1.0, PlanAdopted{{spec.id}}}})
                    .ok());
    auto ledger = storage::PrivacyLedger::Open(env_, GetLedgerPath(folder)).value();
    if (draws > 0) {  // in two records, since damage in the last one is a torn tail
      EXPECT_TRUE(ledger->Reserve(data->digest, {spec.id, 1}, 1, VoteEvent(draws - 1)).ok());
      EXPECT_TRUE(ledger->Reserve(data->digest, {spec.id, 1}, 1, VoteEvent(1)).ok());
    }
    env_.Put(LockPath(folder), "");
    return folder;
  }
  // With no marks in the root, or with those of `shared_`.
  Result<RootTerms> Terms(const SweepPlan& plan) { return ReadRootTerms(env_, kOwn, plan, shared_); }
  Result<ChargedByData> Elsewhere(const SweepPlan& plan) {
    Result<RootTerms> terms = Terms(plan);
    return terms.ok() ? Result<ChargedByData>(std::move(terms->charged)) : Result<ChargedByData>(terms.status());
  }

  // Marks of the examples numbered from `first` to `last`, of data of that digest.
  void Mark(char digest, std::uint8_t first, std::uint8_t last) {
    storage::DataMarks marks{std::string(64, digest), storage::SplitName(*Data(false)), {}, {}};
    for (std::uint8_t i = first; i <= last; ++i) marks.hidden.push_back({i});
    shared_.Add(std::move(marks));
  }

  FaultInjectionEnv env_;
  SharedExamples shared_;
};

std::int64_t Draws(const ChargedByData& charged, char digest) {
  std::int64_t draws = 0;
  if (const auto found = charged.find(std::string(64, digest)); found != charged.end())
    for (const privacy::PrivacyEvent& event : found->second) draws += event.count;
  return draws;
}

TEST_F(NeighboursTest, ChargesOfAllSweepsOfTheRootCountForABudget) {
  Sweep("a", Data(false), 30);
  Sweep("b", Data(true), 12);
  Sweep("other-data", Data(false, 'e'), 500);
  Sweep("own", Data(true), 900);
  const Result<ChargedByData> charged = Elsewhere(Plan(Data(true)));
  ASSERT_TRUE(charged.ok()) << charged.status().message();
  EXPECT_EQ(Draws(*charged, 'd'), 42);
  EXPECT_EQ(Draws(*charged, 'e'), 0);
}

TEST_F(NeighboursTest, ChargesToSomeOfTheSameExamplesCount) {
  Mark('d', 1, 9);
  Mark('e', 9, 20);
  Mark('f', 10, 20);
  Sweep("one-in-common", Data(false, 'e'), 30);
  Sweep("none-in-common", Data(false, 'f'), 500);
  EXPECT_EQ(Draws(*Elsewhere(Plan(Data(true))), 'd'), 30);
  EXPECT_EQ(shared_.Shared(std::string(64, 'd'), std::string(64, 'e')), 1);
  Sweep("capped", Data(true, 'e'), 0);
  EXPECT_EQ(Terms(Plan(Data(false)))->budgets.at(std::string(64, 'd')).size(), 1U);
}

TEST_F(NeighboursTest, RunningNeighbourOfTheSameExamplesStopsABudgetedRun) {
  Mark('d', 1, 9);
  Mark('e', 9, 20);
  const std::string folder = Sweep("busy", Data(false, 'e'), 0);
  const auto lock = env_.Lock(LockPath(folder)).value();
  EXPECT_THAT(Elsewhere(Plan(Data(true))).status().message(), HasSubstr("results/busy is running"));
}

TEST_F(NeighboursTest, UnknownExamplesCountForEveryDataSet) {
  Sweep("before-marks", Data(false, 'e'), 30);
  EXPECT_EQ(Draws(*Elsewhere(Plan(Data(true))), 'd'), 0) << "a root of a time before marks goes by files";
  Mark('d', 1, 9);
  EXPECT_EQ(Draws(*Elsewhere(Plan(Data(true))), 'd'), 30);
  Mark('e', 10, 20);
  EXPECT_EQ(Draws(*Elsewhere(Plan(Data(true))), 'd'), 30) << "once unknown, unknown until all is read again";
  SharedExamples fresh;
  std::swap(shared_, fresh);
  Mark('d', 1, 9);
  Mark('e', 10, 20);
  EXPECT_EQ(Draws(*Elsewhere(Plan(Data(true))), 'd'), 0);
}

TEST_F(NeighboursTest, AnotherSplitOfTheSameFilesIsNotKnownByThisOne) {
  Mark('d', 1, 9);
  Mark('e', 10, 20);
  auto other = Data(false, 'e');
  other->split.train = {100, 900};
  Sweep("other-split", other, 30);
  EXPECT_EQ(Draws(*Elsewhere(Plan(Data(true))), 'd'), 30);
}

TEST_F(NeighboursTest, SweepThatHasNotSaidWhatItDrawsOnHasDrawnNothing) {
  ASSERT_TRUE(env_.CreateDirectories("results/beginning").ok());
  Core core(Settings{.results = "results/beginning", .provenance_json = "{}"});
  ASSERT_TRUE(Journal::Open(env_, "results/beginning", core).ok());
  env_.Put(LockPath("results/beginning"), "");
  EXPECT_TRUE(Elsewhere(Plan(Data(true))).ok()) << "nobody is there";
  const auto lock = env_.Lock(LockPath("results/beginning")).value();
  for (const bool budget : {false, true})
    EXPECT_TRUE(Elsewhere(Plan(Data(budget))).ok()) << "it says so before it looks at this one";
}

TEST_F(NeighboursTest, ABudgetBindsTheOtherDataOfItsSweep) {
  Mark('d', 1, 9);
  Mark('e', 9, 20);
  Mark('f', 10, 20);
  SweepPlan plan = Plan(Data(true));
  plan.data.push_back(Data(false, 'e'));
  plan.data.push_back(Data(false, 'f'));
  const auto budgets = Terms(plan)->budgets;
  EXPECT_TRUE(budgets.contains(std::string(64, 'e')));
  EXPECT_FALSE(budgets.contains(std::string(64, 'f')));
  EXPECT_FALSE(budgets.contains(std::string(64, 'd'))) << "that is its own";
}

TEST_F(NeighboursTest, CopyOfAFolderIsSaid) {
  const std::string folder = Sweep("first", Data(false), 30);
  Sweep("other", Data(false), 30);
  EXPECT_TRUE(DescribeCopies(env_, folder).empty());
  ASSERT_TRUE(env_.CreateDirectories("results/copy").ok());
  env_.Put(GetJournalPath("results/copy"), env_.Bytes(GetJournalPath(folder)));
  EXPECT_THAT(DescribeCopies(env_, folder),
              ::testing::ElementsAre(HasSubstr("one of results/first and results/copy is a copy of the other")));
}

TEST_F(NeighboursTest, TotalOfAFolderFromAnotherRootIsUnknown) {
  const std::string folder = Sweep("own", Data(false), 5);
  Core core(Settings{.results = folder, .provenance_json = "{}"});
  ASSERT_TRUE(Journal::Open(env_, folder, core)->Commit({{2.0, RootNoted{std::string(32, 'a')}}}).ok());
  const ResultsView view = ReadResults(env_, folder).value();
  EXPECT_EQ(view.noted_root, std::string(32, 'a'));
  EXPECT_THAT(ReadRoot(env_, view).trouble, HasSubstr("was first run in another results root than results"));
}

TEST_F(NeighboursTest, WithoutABudgetNothingIsRead) {
  const std::string folder = Sweep("a", Data(false), 30);
  env_.Bytes(GetLedgerPath(folder))[40] ^= 0x55;
  const Result<ChargedByData> charged = Elsewhere(Plan(Data(false)));
  ASSERT_TRUE(charged.ok());
  EXPECT_TRUE(charged->empty());
}

// The noise was less than its event says, so how much was spent is not known either.
TEST_F(NeighboursTest, ChargesOfATrialThatAnAuditRefutesHaveNoBound) {
  const auto data = Data(false);
  const std::string folder = Sweep("refuted", data, 30);
  Core core(Settings{.results = folder, .provenance_json = "{}"});
  auto journal = Journal::Open(env_, folder, core);
  const TrialSpec spec = TrialBuilder(7).With(data).Build();
  ASSERT_TRUE(journal.ok() && journal->Commit(testing::FinishedTrial(spec, 0)).ok());
  const auto without_bound = [&] {
    const auto charged = Elsewhere(Plan(Data(true))).value().at(data->digest);
    return std::all_of(charged.begin(), charged.end(), [](const privacy::PrivacyEvent& event) {
      return event.voids == std::vector<std::string>{std::string(privacy::kVoidRefuted)};
    });
  };
  EXPECT_FALSE(without_bound());
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::canary;
  finding.mu_lower = 2.5;
  finding.mu_proven = 2;
  const ResultsView view = ReadResults(env_, folder).value();
  ASSERT_TRUE(StoreAudit(env_, folder, view.trials.at(0), {finding}).ok());
  EXPECT_TRUE(without_bound());
}

TEST_F(NeighboursTest, DamagedNeighbourStopsABudgetedRunAndIsNamed) {
  const std::string folder = Sweep("broken", Data(false), 30);
  env_.Bytes(GetLedgerPath(folder))[40] ^= 0x55;
  const Status status = Elsewhere(Plan(Data(true))).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("results/broken"));
  EXPECT_THAT(status.message(), HasSubstr("retort repair"));
}

TEST_F(NeighboursTest, NeighbourWithoutAJournalCannotBeCounted) {
  const std::string folder = Sweep("lost", Data(false), 30);
  ASSERT_TRUE(env_.Remove(GetJournalPath(folder)).ok());
  EXPECT_THAT(Elsewhere(Plan(Data(true))).status().message(), HasSubstr("results/lost"));
}

TEST_F(NeighboursTest, NeighbourThatLostItsLedgerCannotBeCounted) {
  const std::string folder = Sweep("lost", Data(false), 30);
  Core core(Settings{.results = folder, .provenance_json = "{}"});
  ASSERT_TRUE(Journal::Open(env_, folder, core)->Commit({{2.0, LedgerNoted{2}}}).ok());
  EXPECT_TRUE(Elsewhere(Plan(Data(true))).ok());
  ASSERT_TRUE(env_.Remove(GetLedgerPath(folder)).ok());
  const Status status = Elsewhere(Plan(Data(true))).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("results/lost"));
  EXPECT_THAT(status.message(), HasSubstr("0 of the 2 reservations"));
}

TEST_F(NeighboursTest, RunningNeighbourOfTheSameDataStopsABudgetedRun) {
  const std::string folder = Sweep("busy", Data(false), 0);
  const auto lock = env_.Lock(LockPath(folder)).value();
  const Status status = Elsewhere(Plan(Data(true))).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("results/busy is running and draws on data set 'digits'"));
  EXPECT_THAT(status.message(), HasSubstr("--results"));
}

TEST_F(NeighboursTest, RunningNeighbourWithABudgetStopsARunWithoutOne) {
  const std::string folder = Sweep("capped", Data(true), 0);
  EXPECT_TRUE(Elsewhere(Plan(Data(false))).ok());
  const auto lock = env_.Lock(LockPath(folder)).value();
  EXPECT_THAT(Elsewhere(Plan(Data(false))).status().message(), HasSubstr("its budget"));
}

TEST_F(NeighboursTest, BudgetOfAFinishedNeighbourBindsASweepWithoutOne) {
  Sweep("capped", Data(true), 30);
  Sweep("other", Data(false), 12);
  const Result<RootTerms> terms = Terms(Plan(Data(false)));
  ASSERT_TRUE(terms.ok()) << terms.status().message();
  ASSERT_EQ(terms->budgets.size(), 1U);
  const std::vector<OtherBudget>& budgets = terms->budgets.at(std::string(64, 'd'));
  ASSERT_EQ(budgets.size(), 1U);
  EXPECT_EQ(budgets[0].directory, "results/capped");
  EXPECT_EQ(budgets[0].budget.epsilon, 1);
  EXPECT_EQ(Draws(terms->charged, 'd'), 42) << "counted, since a budget covers them now";
  EXPECT_TRUE(Terms(Plan(Data(false, 'e')))->budgets.empty());
}

TEST_F(NeighboursTest, NeighbourOfTheSameExamplesInPackedFilesCounts) {
  const std::string folder = Sweep("packed", Data(true, 'p'), 30);
  EXPECT_TRUE(Terms(Plan(Data(false)))->budgets.empty());
  Core core(Settings{.results = folder, .provenance_json = "{}"});
  const DataNoted noted{std::string(64, 'p'), std::string(64, 'd')};
  ASSERT_TRUE(Journal::Open(env_, folder, core)->Commit({{2.0, noted}}).ok());
  Result<RootTerms> terms = Terms(Plan(Data(false)));
  ASSERT_TRUE(terms.ok()) << terms.status().message();
  EXPECT_TRUE(terms->budgets.contains(std::string(64, 'd')));
  EXPECT_EQ(Draws(terms->charged, 'd'), 30);
  // The other way round: packed anew here, unpacked there.
  Sweep("plain", Data(false), 12);
  SweepPlan plan = Plan(Data(true, 'q'));
  plan.unpacked[std::string(64, 'q')] = std::string(64, 'd');
  terms = Terms(plan);
  ASSERT_TRUE(terms.ok()) << terms.status().message();
  EXPECT_EQ(Draws(terms->charged, 'd'), 42);
}

TEST_F(NeighboursTest, WhileABudgetBindsOnlyOneSweepDraws) {
  Sweep("capped", Data(true), 0);
  const std::string folder = Sweep("busy", Data(false), 0);
  EXPECT_TRUE(Elsewhere(Plan(Data(false))).ok());
  const auto lock = env_.Lock(LockPath(folder)).value();
  EXPECT_THAT(Elsewhere(Plan(Data(false))).status().message(), HasSubstr("results/busy is running"));
}

TEST_F(NeighboursTest, UnreadableBudgetStopsSweepsOfItsData) {
  const std::string folder = Sweep("capped", Data(true), 30);
  env_.Bytes(GetJournalPath(folder))[40] ^= 0x55;
  const Status status = Elsewhere(Plan(Data(false))).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("whether results/capped sets a budget"));
  EXPECT_TRUE(Elsewhere(Plan(Data(false, 'e'))).ok());
}

TEST_F(NeighboursTest, RunningNeighbourOfOtherDataDoesNotMatter) {
  const std::string folder = Sweep("elsewhere", Data(true, 'e'), 8);
  const auto lock = env_.Lock(LockPath(folder)).value();
  EXPECT_TRUE(Elsewhere(Plan(Data(true))).ok());
  EXPECT_TRUE(Elsewhere(Plan(Data(false))).ok());
}

TEST_F(NeighboursTest, TotalsOfTheRootSayWhyTheyAreUnknown) {
  Sweep("own", Data(false), 5);
  const std::string folder = Sweep("a", Data(false), 30);
  const ResultsView view = ReadResults(env_, kOwn).value();
  const RootCharges root = ReadRoot(env_, view);
  EXPECT_EQ(root.directory, "results");
  ASSERT_EQ(root.sweeps.size(), 1U);
  EXPECT_EQ(Draws(root.sweeps[0].charged, 'd'), 30);
  env_.Bytes(GetLedgerPath(folder))[40] ^= 0x55;
  EXPECT_THAT(ReadRoot(env_, view).trouble, HasSubstr("results/a"));
}

}  // namespace
}  // namespace retort::orchestrator
