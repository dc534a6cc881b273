#include <gtest/gtest.h>

#include "orchestrator/journal/journal.h"
#include "orchestrator/reactor/reactor.h"
#include "tests/simulation/simulated_cluster.h"
#include "tests/testing/trial_builder.h"

namespace retort::testing {
namespace {

using orchestrator::TrialState;

constexpr int kPatience = 200'000;  // steps of half a simulated second on average

FaultRates HeavyStorm() {
  FaultRates storm;
  storm.worker_crash = 0.02;
  storm.worker_hang = 0.004;
  storm.worker_failure = 0.004;
  storm.agent_death = 0.002;
  storm.drop = 0.01;
  storm.duplicate = 0.05;
  storm.stale = 0.2;
  storm.delay = 0.05;
  storm.freeze = 0.002;
  return storm;
}

// What no run may leave behind, whatever happened.
void ExpectEnded(SimulatedCluster& cluster, const SweepPlan& plan) {
  EXPECT_TRUE(cluster.core().AllFinal());
  EXPECT_TRUE(cluster.core().missing_rows().empty());
  EXPECT_TRUE(cluster.core().fleet.active().empty());
  EXPECT_EQ(cluster.core().plan().size(), plan.trials.size());
}

TEST(SchedulerSimulation, QuietClusterFinishesEveryTrial) {
  const SweepPlan plan = FamilyPlan(2, 5);
  SimulatedCluster cluster(1, 3, 2, {});
  ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
  const Status status = cluster.RunToEnd(kPatience);
  ASSERT_TRUE(status.ok()) << status.message();
  ExpectEnded(cluster, plan);
  EXPECT_EQ(cluster.core().CountIn(TrialState::succeeded), plan.trials.size());
  EXPECT_EQ(cluster.core().counters.stale, 0U);
  EXPECT_EQ(orchestrator::ChooseSweepExitCode(cluster.core()), 0);
}

TEST(SchedulerSimulation, EverySeedOfAHeavyStormEnds) {
  const SweepPlan plan = FamilyPlan(3, 6);
  std::uint64_t stale = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedCluster cluster(seed, 4, 2, HeavyStorm());
    ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
    const Status status = cluster.RunToEnd(kPatience);
    ASSERT_TRUE(status.ok()) << status.message();
    ExpectEnded(cluster, plan);
    stale += cluster.core().counters.stale;
  }
  EXPECT_GT(stale, 0U) << "the storm said nothing stale";
}

// Its workers go on meanwhile, beside those that took their trials over.
TEST(SchedulerSimulation, AgentsThatFallSilentAndComeBackDisturbNothing) {
  const SweepPlan plan = FamilyPlan(2, 4);
  SimulatedCluster calm(7, 2, 2, {});
  ASSERT_TRUE(calm.StartOrchestrator(plan).ok());
  ASSERT_TRUE(calm.RunToEnd(kPatience).ok());
  FaultRates storm;
  storm.freeze = 0.02;
  std::uint64_t frozen = 0, stale = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedCluster cluster(seed, 3, 2, storm);
    ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
    const Status status = cluster.RunToEnd(kPatience);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(cluster.Digests(), calm.Digests());
    frozen += cluster.frozen_agents();
    stale += cluster.core().counters.stale;
  }
  EXPECT_GT(frozen, 0U);
  EXPECT_GT(stale, 0U) << "none came back too late";
}

TEST(SchedulerSimulation, CrashesDoNotChangeRows) {
  const SweepPlan plan = FamilyPlan(2, 4);
  SimulatedCluster calm(7, 2, 2, {});
  ASSERT_TRUE(calm.StartOrchestrator(plan).ok());
  ASSERT_TRUE(calm.RunToEnd(kPatience).ok());
  FaultRates storm;
  storm.worker_crash = 0.05;
  storm.agent_death = 0.01;
  storm.freeze = 0.005;
  storm.stale = 0.3;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedCluster cluster(seed, 3, 2, storm);
    ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
    const Status status = cluster.RunToEnd(kPatience);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(cluster.Digests(), calm.Digests());
  }
}

// Gangs of one to four among small trials, on hosts of two slots.
SweepPlan MixedPlan() {
  std::vector<TrialSpec> trials;
  for (std::uint64_t seed = 0; seed < 24; ++seed)
    trials.push_back(
        TrialBuilder(seed).Teacher("t" + std::to_string(seed)).Devices(1 + static_cast<int>(seed) % 4).Build());
  return MakePlan(std::move(trials));
}

TEST(SchedulerSimulation, GangsStartWholeAndEndInEveryStorm) {
  const SweepPlan plan = MixedPlan();
  SimulatedCluster calm(7, 3, 2, {});
  ASSERT_TRUE(calm.StartOrchestrator(plan).ok());
  ASSERT_TRUE(calm.RunToEnd(kPatience).ok());
  EXPECT_EQ(calm.broken_gangs(), 0U);
  EXPECT_EQ(calm.core().CountIn(TrialState::succeeded), plan.trials.size());
  FaultRates storm;
  storm.worker_crash = 0.01;
  storm.agent_death = 0.002;
  storm.stale = 0.2;
  storm.duplicate = 0.05;
  std::uint64_t steps = 0, broken = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedCluster cluster(seed, 3, 2, storm);
    ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
    const Status status = cluster.RunToEnd(kPatience);
    ASSERT_TRUE(status.ok()) << status.message();
    ExpectEnded(cluster, plan);
    EXPECT_EQ(cluster.Digests(), calm.Digests());
    steps += cluster.gang_steps();
    broken += cluster.broken_gangs();
  }
  EXPECT_GT(steps, 0U);
  EXPECT_GT(broken, 0U) << "the storm broke no gang";
}

// With too few left for its gangs a sweep ends saved; with all of them back it goes on.
TEST(SchedulerSimulation, AgentsThatNeverComeBackCostNoTrial) {
  const SweepPlan plan = MixedPlan();
  SimulatedCluster calm(7, 3, 2, {});
  ASSERT_TRUE(calm.StartOrchestrator(plan).ok());
  ASSERT_TRUE(calm.RunToEnd(kPatience).ok());
  FaultRates storm;
  storm.worker_crash = 0.005;
  storm.agent_death = 0.004;
  storm.agent_loss = 0.3;
  int stuck = 0, whole = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedCluster cluster(seed, 3, 2, storm);
    ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
    Status status = cluster.RunToEnd(kPatience);
    ASSERT_TRUE(status.ok()) << status.message();
    if (cluster.core().AllFinal()) {
      ++whole;
    } else {
      ++stuck;
      EXPECT_EQ(orchestrator::ChooseSweepExitCode(cluster.core()), 75);
      ASSERT_TRUE(cluster.core().stop);
      EXPECT_NE(cluster.core().stop->cause.find("nothing could start"), std::string::npos);
      cluster.StopFaults();
      ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
      status = cluster.RunToEnd(kPatience);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    ExpectEnded(cluster, plan);
    EXPECT_EQ(cluster.Digests(), calm.Digests());
  }
  EXPECT_GT(stuck, 0) << "no agent was missed";
  EXPECT_GT(whole, 0) << "every sweep came to a dead end";
}

TEST(SchedulerSimulation, EveryRequestOfAUserIsAnsweredOnceInEveryStorm) {
  std::uint64_t cancelled = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const SweepPlan plan = seed % 2 == 0 ? MixedPlan() : FamilyPlan(3, 6);
    SCOPED_TRACE("seed " + std::to_string(seed));
    FaultRates storm = HeavyStorm();
    storm.request = 0.1;
    SimulatedCluster cluster(seed, 4, 2, storm);
    ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
    for (int step = 0; step < 400 && !cluster.core().ended; ++step) {
      const Status status = cluster.Step();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    cluster.StopFaults();
    const Status status = cluster.RunToEnd(kPatience);
    ASSERT_TRUE(status.ok()) << status.message();
    ExpectEnded(cluster, plan);
    EXPECT_TRUE(cluster.core().cancels.empty());
    EXPECT_GT(cluster.requests(), 0);
    EXPECT_EQ(cluster.final_answers(), cluster.requests());
    cancelled += cluster.core().CountIn(TrialState::cancelled);
  }
  EXPECT_GT(cancelled, 0U) << "nothing was cancelled";
}

TEST(SchedulerSimulation, StoppedSweepKeepsItsStateAndGoesOn) {
  const SweepPlan plan = FamilyPlan(2, 4);
  for (int steps = 1; steps < 45; steps += 4) {
    SCOPED_TRACE("stopped after step " + std::to_string(steps));
    SimulatedCluster cluster(3, 2, 1, {});
    ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
    for (int step = 0; step < steps; ++step) ASSERT_TRUE(cluster.Step().ok());
    orchestrator::Outbox outbox;
    OnStopRequested(cluster.core(), "SIGTERM", 5, cluster.now(), outbox);
    // These workers do not save in time.
    ASSERT_TRUE(cluster.RunToEnd(100).ok());
    EXPECT_EQ(orchestrator::ChooseSweepExitCode(cluster.core()), 75);
    ASSERT_TRUE(cluster.StartOrchestrator(plan).ok());
    ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
    EXPECT_EQ(cluster.core().CountIn(TrialState::succeeded), plan.trials.size());
  }
}

}  // namespace
}  // namespace retort::testing
