// Thousands of workers, many thousands of events, every invariant after each of them.
#include <gtest/gtest.h>

#include "orchestrator/reactor/reactor.h"
#include "tests/simulation/simulated_cluster.h"
#include "tests/simulation/storm_case.h"
#include "tests/testing/trial_builder.h"

namespace retort::testing {
namespace {

using orchestrator::TrialState;

constexpr int kPatience = 20'000;
constexpr std::uint64_t kLeastEvents = 100'000;

SweepPlan PlanFor(const StormCase& c) {
  std::vector<TrialSpec> trials;
  for (int i = 0; i < c.trials; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    trials.push_back(
        TrialBuilder(seed).Teacher("t" + std::to_string(seed)).Devices(1 + i % c.gang).Priority(i % 3).Build());
  }
  return MakePlan(std::move(trials));
}

FaultRates HeavyStorm(bool rough) {
  FaultRates storm;
  storm.freeze = 0.0005;
  if (rough) {
    storm.drop = 0.003;
    storm.worker_hang = 0.001;
    storm.worker_failure = 0.002;
  }
  storm.worker_crash = 0.004;  // gangs of 16 come through before they were killed too often
  storm.agent_death = 0.001;
  storm.duplicate = 0.02;
  storm.stale = 0.5;
  storm.delay = 0.02;
  return storm;
}

const orchestrator::Trial* FirstThatFailed(const orchestrator::Core& core) {
  for (const std::size_t index : core.plan())
    if (core.At(index).state != TrialState::succeeded) return &core.At(index);
  return nullptr;
}

std::string DescribeFailures(const orchestrator::Trial& trial) {
  std::string text = std::to_string(trial.spec.devices) + " devices";
  for (const auto& [kind, count] : trial.failures)
    text += ", " + std::to_string(count) + " times " + std::string(GetFailureName(kind));
  return text + "; last: " + trial.detail;
}

// What no sweep may do, whatever happens. `events` counts the messages that were taken in.
Status RunCase(const StormCase& c, std::uint64_t* events = nullptr) {
  const SweepPlan plan = PlanFor(c);
  SimulatedCluster cluster(c.seed, c.agents, c.slots, HeavyStorm(c.rough));
  RETORT_RETURN_IF_ERROR(cluster.StartOrchestrator(plan));
  const Status ended = cluster.RunToEnd(kPatience);  // checks every invariant after every event
  if (events != nullptr) *events += cluster.core().counters.received;
  RETORT_RETURN_IF_ERROR(ended);
  const orchestrator::Core& core = cluster.core();
  if (!core.AllFinal() || core.plan().size() != plan.trials.size()) return Refused("a trial is lost");
  if (const orchestrator::Trial* failed = FirstThatFailed(core); failed != nullptr && !c.rough)
    return Refused("a trial that can succeed failed: " + DescribeFailures(*failed));
  if (!core.missing_rows().empty()) return Refused("a row is missing");
  return {};
}

TEST(LargeCluster, HoldsEveryInvariantThroughAHundredThousandEvents) {
  std::uint64_t events = 0;
  for (std::uint64_t seed = 1; events < kLeastEvents; ++seed) {
    const StormCase c = seed == 1 ? StormCase{seed, 250, 8, 500, 16} : StormCase{seed, 12, 8, 400, 8, seed % 2 == 0};
    const Status status = RunCase(c, &events);
    if (status.ok()) continue;
    const StormCase least = Shrink(c, [](const StormCase& smaller) { return RunCase(smaller); });
    FAIL() << status.message() << "\n  in " << c.Text() << "\n  least: " << least.Text() << ": "
           << RunCase(least).message();
  }
}

TEST(Shrinking, FindsTheLeastCaseThatFails) {
  int runs = 0;
  const StormCase least = Shrink({7, 250, 8, 4000, 6}, [&runs](const StormCase& c) {
    ++runs;
    return c.trials >= 13 && c.agents >= 3 && c.gang >= 2 ? Refused("broken") : Status();
  });
  EXPECT_EQ(least.seed, 7U);
  EXPECT_EQ(least.trials, 13);
  EXPECT_EQ(least.agents, 3);
  EXPECT_EQ(least.slots, 1);
  EXPECT_EQ(least.gang, 2);
  EXPECT_LT(runs, 100);
}

}  // namespace
}  // namespace retort::testing
