#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/journal/journal.h"
#include "tests/simulation/simulated_cluster.h"
#include "tests/testing/trial_builder.h"

namespace retort::testing {
namespace {

using orchestrator::TrialState;

constexpr int kPatience = 20'000;

FaultRates SomeTrouble() {
  FaultRates storm;
  storm.worker_crash = 0.02;
  storm.agent_death = 0.003;
  return storm;
}

std::map<std::string, std::string> UndisturbedDigests(const SweepPlan& plan) {
  SimulatedCluster cluster(1, 2, 1, {});
  EXPECT_TRUE(cluster.StartOrchestrator(plan).ok());
  EXPECT_TRUE(cluster.RunToEnd(kPatience).ok());
  EXPECT_EQ(cluster.core().CountIn(TrialState::succeeded), plan.trials.size());
  return cluster.Digests();
}

int OperationsOfAWholeRun(const SweepPlan& plan) {
  SimulatedCluster cluster(5, 2, 1, SomeTrouble());
  EXPECT_TRUE(cluster.StartOrchestrator(plan).ok());
  EXPECT_TRUE(cluster.RunToEnd(kPatience).ok());
  return cluster.disk().operations();
}

// Dies at disk operation `operation`, then comes back once and finishes.
void DieAndGoOn(const SweepPlan& plan, int operation, Crash crash, const std::map<std::string, std::string>& digests) {
  SCOPED_TRACE("died at disk operation " + std::to_string(operation));
  SimulatedCluster cluster(5, 2, 1, SomeTrouble());
  cluster.disk().StopAt(operation);
  Status status = cluster.StartOrchestrator(plan);
  if (status.ok()) status = cluster.RunToEnd(kPatience);
  ASSERT_FALSE(status.ok());
  ASSERT_TRUE(cluster.disk().stopped());
  cluster.disk().Restart(crash);
  status = cluster.StartOrchestrator(plan);
  ASSERT_TRUE(status.ok()) << status.message();
  status = cluster.RunToEnd(kPatience);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(cluster.Digests(), digests);
}

TEST(OrchestratorDeath, AfterEveryDiskOperationTheSweepEndsWithTheSameRows) {
  const SweepPlan plan = FamilyPlan(1, 3);
  const auto digests = UndisturbedDigests(plan);
  const int operations = OperationsOfAWholeRun(plan);
  ASSERT_GT(operations, 50);
  for (int operation = 1; operation < operations; ++operation)
    DieAndGoOn(plan, operation, Crash::process_killed, digests);
}

TEST(OrchestratorDeath, WithPowerLossToo) {
  const SweepPlan plan = FamilyPlan(1, 3);
  const auto digests = UndisturbedDigests(plan);
  const int operations = OperationsOfAWholeRun(plan);
  for (int operation = 1; operation < operations; operation += 3)
    DieAndGoOn(plan, operation, Crash::power_lost_torn, digests);
}

TEST(OrchestratorDeath, EveryJournalPrefixReplaysToALegalCore) {
  const SweepPlan plan = FamilyPlan(2, 4);
  SimulatedCluster cluster(11, 3, 2, SomeTrouble());
  ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
  ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
  const std::string path = orchestrator::GetJournalPath(SimulatedCluster::kResults);
  const Result<storage::LogContents> log = storage::ReadRecordLog(cluster.disk(), path, storage::LogKind::journal);
  ASSERT_TRUE(log.ok());
  ASSERT_GT(log->records.size(), 50U);
  orchestrator::Core core(orchestrator::Settings{});
  orchestrator::JournalCodec codec;
  for (const storage::Record& record : log->records) {
    const Status applied = orchestrator::ReplayRecord(record, codec, core);
    ASSERT_TRUE(applied.ok()) << applied.message();
    const Status legal = core.CheckInvariants();
    ASSERT_TRUE(legal.ok()) << legal.message();
  }
  EXPECT_TRUE(core.AllFinal());
}

TEST(OrchestratorDeath, JournalThatCannotBeWrittenEndsTheRun) {
  SimulatedCluster cluster(1, 2, 1, {});
  ASSERT_TRUE(cluster.StartOrchestrator(FamilyPlan(1, 3)).ok());
  for (int step = 0; step < 5; ++step) ASSERT_TRUE(cluster.Step().ok());
  cluster.disk().FailAll(EnvironmentError("no space left on device"));
  const Status status = cluster.RunToEnd(100);
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("no space left"));
}

}  // namespace
}  // namespace retort::testing
