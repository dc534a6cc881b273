// The plan of `retort chaos`, and that its verdict goes red when what it guards is broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "orchestrator/cli/chaos/chaos_plan.h"
#include "orchestrator/cli/chaos/chaos_process.h"
#include "orchestrator/cli/chaos/chaos_verdict.h"
#include "storage/results/attempt_account.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ChaosPlan, FollowsFromTheSeedAndCountsKillsAlone) {
  const std::vector<Disturbance> plan = PlanDisturbances(7, 200), again = PlanDisturbances(7, 200);
  ASSERT_EQ(plan.size(), again.size());
  bool other = false;
  const std::vector<Disturbance> another = PlanDisturbances(8, 200);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    EXPECT_EQ(plan[i].kind, again[i].kind);
    EXPECT_EQ(plan[i].pick, again[i].pick);
    EXPECT_EQ(plan[i].wait, again[i].wait);
    other = other || i >= another.size() || another[i].pick != plan[i].pick;
  }
  EXPECT_TRUE(other) << "another seed is another plan";
  const auto freezes = std::count_if(plan.begin(), plan.end(), [](const auto& d) { return IsFreeze(d.kind); });
  EXPECT_EQ(static_cast<long>(plan.size()) - freezes, 200);
}

TEST(ChaosPlan, TwoHundredKillsHoldEveryKind) {
  std::set<DisturbanceKind> kinds;
  for (const Disturbance& disturbance : PlanDisturbances(0, 200)) {
    kinds.insert(disturbance.kind);
    EXPECT_GE(disturbance.wait, 0);
    EXPECT_LT(disturbance.wait, 2);
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kDisturbanceKinds));
}

TEST(ChaosPlan, ARunMayTakeWhatTheUndisturbedOneTellsItToTake) {
  EXPECT_LT(ComputeLongestDisturbedRun(4), 400) << "a small sweep that hangs is not waited for";
  EXPECT_GT(ComputeLongestDisturbedRun(3600), 10 * 3600) << "a long one is not given up while it works";
}

// The sample sweep, and a disturbed copy of it that a test may damage.
class ChaosVerdictTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (TrialView& trial : undisturbed_.trials)
      if (trial.row) trial.row->row_digest = storage::ComputeRowDigest(*trial.row);
    storage::LedgerEntry entry;
    entry.id = 1;
    entry.data_digest = undisturbed_.trials[1].spec.data->digest;
    entry.attempt = {undisturbed_.trials[1].spec.id, 1};
    entry.state = storage::LedgerState::settled;
    entry.event.noise_std = 1;
    entry.event.count = entry.used = 10;
    undisturbed_.ledger.push_back(entry);
    disturbed_ = undisturbed_;
    draws_[entry.attempt.trial] = {entry};
  }
  TrialView& Student() { return disturbed_.trials[1]; }
  storage::LedgerEntry& Entry() {
    const auto found = std::find_if(disturbed_.ledger.begin(), disturbed_.ledger.end(),
                                    [this](const auto& entry) { return entry.attempt.trial == Student().spec.id; });
    EXPECT_NE(found, disturbed_.ledger.end());
    return *found;
  }
  ChaosVerdict Verdict() { return Judge(undisturbed_, disturbed_, draws_); }

  testing::Sample sample_ = testing::SampleSweep();
  ResultsView undisturbed_ = sample_.view, disturbed_;
  WitnessedDraws draws_;
};

TEST_F(ChaosVerdictTest, SameFoldersSurvive) {
  const ChaosVerdict verdict = Verdict();
  EXPECT_TRUE(verdict.ok());
  EXPECT_GT(verdict.rows, 0);
  EXPECT_EQ(verdict.equal, verdict.rows);
  EXPECT_GT(verdict.drawn, 0);
}

TEST_F(ChaosVerdictTest, MissingRowIsALostTrial) {
  Student().row.reset();
  const ChaosVerdict verdict = Verdict();
  EXPECT_FALSE(verdict.ok());
  EXPECT_THAT(verdict.lost, ElementsAre(HasSubstr(Student().spec.name)));
}

TEST_F(ChaosVerdictTest, MissingTrialIsALostTrial) {
  disturbed_.trials.erase(disturbed_.trials.begin() + 1);
  EXPECT_EQ(Verdict().lost.size(), 1U);
}

TEST_F(ChaosVerdictTest, MetricThatDiffersInTheLastBitIsNamed) {
  auto& [name, value] = Student().row->metrics.front();
  value = std::nextafter(value, 2.0);
  Student().row->row_digest = storage::ComputeRowDigest(*Student().row);
  const ChaosVerdict verdict = Verdict();
  EXPECT_FALSE(verdict.ok());
  EXPECT_THAT(verdict.different, ElementsAre(HasSubstr(name)));
  EXPECT_EQ(verdict.equal, verdict.rows - 1);
}

TEST_F(ChaosVerdictTest, OtherParametersAreAnotherRow) {
  Student().row->parameters_digest = std::string(64, 'e');
  Student().row->row_digest = storage::ComputeRowDigest(*Student().row);
  EXPECT_THAT(Verdict().different, ElementsAre(HasSubstr("other parameters")));
}

TEST_F(ChaosVerdictTest, LedgerBelowWhatTheResultTakesIsUndercounted) {
  Entry().state = storage::LedgerState::settled;
  Entry().used = Entry().event.count - 1;
  draws_.clear();
  const ChaosVerdict verdict = Verdict();
  EXPECT_FALSE(verdict.ok());
  EXPECT_THAT(verdict.undercounted, ElementsAre(HasSubstr(Student().spec.name)));
}

TEST_F(ChaosVerdictTest, GrantThatOnlyTheWorkerRemembersIsUndercounted) {
  // A second attempt drew again, and the ledger lost its reservation: the sum still covers the result.
  storage::LedgerEntry again = Entry();
  again.attempt.number += 1;
  draws_[Student().spec.id].push_back(again);
  const ChaosVerdict verdict = Verdict();
  EXPECT_FALSE(verdict.ok());
  EXPECT_THAT(verdict.undercounted, ElementsAre(HasSubstr("reservation 1 of attempt 2")));
  disturbed_.ledger.push_back(again);
  EXPECT_TRUE(Verdict().ok()) << "more in the ledger is fine";
  disturbed_.ledger.back().used -= 1;
  EXPECT_FALSE(Verdict().ok()) << "less than the worker says it made";
}

TEST_F(ChaosVerdictTest, WhatTheLedgerToldAnAttemptWitnessesNothing) {
  storage::LedgerEntry told = Entry();
  told.id = storage::kUncountedId;
  draws_[Student().spec.id].push_back(told);
  EXPECT_TRUE(Verdict().ok());
}

TEST_F(ChaosVerdictTest, BlockThatTheWorkerDidNotSeeSettledIsFine) {
  storage::LedgerEntry again = Entry();
  again.attempt.number += 1;
  again.used = 7;
  disturbed_.ledger.push_back(again);
  again.state = storage::LedgerState::reserved;  // it died between settling and saving
  draws_[Student().spec.id].push_back(again);
  EXPECT_TRUE(Verdict().ok());
  draws_[Student().spec.id].back().event.count += 1;
  EXPECT_FALSE(Verdict().ok()) << "a smaller reservation than it drew from";
}

TEST_F(ChaosVerdictTest, UnprovokedFailureCountsAsAFailureDespiteARetry) {
  ChaosVerdict sum = Verdict(), round = Verdict();
  round.unexplained.push_back("a trial failed for good in round 1 (worker_crash: segmentation fault)");
  EXPECT_FALSE(round.ok());
  sum.Add(round);
  EXPECT_FALSE(sum.ok());
  EXPECT_EQ(sum.equal, sum.rows);
}

TEST(ChaosFailure, OnlyAFullDiskAndAsManyKillsAsARuleAllowsExplainOne) {
  EXPECT_TRUE(ExplainsFailure(FailureKind::disk, true, 0));
  EXPECT_FALSE(ExplainsFailure(FailureKind::disk, false, 100));
  for (const FailureKind kind : {FailureKind::worker_killed, FailureKind::gang_broken, FailureKind::agent_lost}) {
    const int cap = FindRetryRule(kind).max_attempts;
    EXPECT_TRUE(ExplainsFailure(kind, false, cap));
    EXPECT_FALSE(ExplainsFailure(kind, true, cap - 1)) << GetFailureName(kind);
  }
  for (const FailureKind kind : {FailureKind::worker_crash, FailureKind::worker_hang, FailureKind::spawn,
                                 FailureKind::internal, FailureKind::bad_message, FailureKind::configuration})
    EXPECT_FALSE(ExplainsFailure(kind, true, 1000)) << GetFailureName(kind);
}

TEST_F(ChaosVerdictTest, SumOfRoundsIsRedWhenOneIs) {
  ChaosVerdict sum = Verdict();
  Student().row.reset();
  sum.Add(Verdict());
  EXPECT_FALSE(sum.ok());
  EXPECT_EQ(sum.equal, sum.rows - 1);
}

TEST(ChaosProcess, EndsAreReportedAndNothingIsLeft) {
  ::retort::testing::TemporaryDirectory folder;
  RunOrder order;
  order.words = {"sh", "-c", "exit 7"};
  order.environment = {"PATH=/usr/bin:/bin"};
  order.log = folder / "log";
  Result<ChaosProcess> process = ChaosProcess::Start(order);
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->Wait(10), 7);
  order.words = {"sh", "-c", "sleep 100 & sleep 100"};
  process = ChaosProcess::Start(order);
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->Wait(0.1), std::nullopt);
  EXPECT_FALSE(ListDescendants().empty());
  EXPECT_TRUE(KillDescendants(10));
  EXPECT_THAT(ListDescendants(), IsEmpty());
}

TEST(ChaosProcess, FullDiskIsAnErrorOfTheWriteNotADeath) {
  ::retort::testing::TemporaryDirectory folder;
  RunOrder order;
  order.words = {"sh", "-c", "head -c 5000 /dev/zero > \"$0\" && exit 0; exit 9", folder / "big"};
  order.environment = {"PATH=/usr/bin:/bin"};
  order.log = folder / "log";
  order.largest_file = 1000;
  Result<ChaosProcess> process = ChaosProcess::Start(order);
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->Wait(10), 9);
}

}  // namespace
}  // namespace retort::orchestrator::cli
