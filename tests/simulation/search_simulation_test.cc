// A search on a cluster that crashes and is killed: the same suggestions in the same order, and the same rows.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/reactor/search_rounds.h"
#include "tests/simulation/simulated_cluster.h"

namespace retort::testing {
namespace {

using orchestrator::PlanSearch;

constexpr int kPatience = 20'000;
struct Method {
  const char* name;
  const char* keys;
  std::size_t trials, rounds, first;  // of the first round
};
constexpr Method kMethods[] = {
    {"Tpe", "trials = 11\nstartup = 3\nbatch = 3\nspace.steps = { low = 3, high = 9 }\n", 11, 4, 3},
    {"SuccessiveHalving", "method = \"successive-halving\"\ntrials = 7\nreduction = 2\nrungs.steps = [3, 5, 7]\n", 11,
     3, 7},
};

const std::string kSweep =
    "retort = 1\n"
    "[data.digits]\n"
    "reader = \"idx\"\n"
    "path = \"digits\"\n"
    "split = { shuffle = 1, train = [0, 800], public = [800, 900], test = [900, 1000] }\n"
    "[trial]\n"
    "method = \"dpsgd\"\n"
    "noise_multiplier = 2\n"
    "batch = 64\n"
    "noise = \"seeded\"\n"
    "[sweep]\n"
    "name = \"searched\"\n"
    "[sweep.search]\n"
    "space.lr = { low = 1e-3, high = 1, scale = \"log\" }\n";

Result<SweepPlan> PlanRound(const Method& method, const SearchHistory& history) {
  PlanHooks hooks;
  hooks.inspect = [](DataSpec& data) {
    data.digest = std::string(64, 'd');
    data.examples = 1000;
    data.channels = 1;
    data.height = data.width = 28;
    return Status();
  };
  PlanOptions options;
  options.history = std::make_shared<const SearchHistory>(history);
  PlanOutcome outcome = ParseSweep(kSweep + method.keys, "searched.toml", options, hooks);
  if (!outcome.plan) return UsageError(Render(outcome.errors.front()));
  return *std::move(outcome.plan);
}

PlanSearch PlanRounds(const Method& method) {
  return [&method](const SearchHistory& history) { return PlanRound(method, history); };
}

FaultRates SomeTrouble() {
  FaultRates storm;
  storm.worker_crash = 0.02;
  storm.agent_death = 0.003;
  return storm;
}

std::vector<TrialId> ListSuggestedTrials(SimulatedCluster& cluster) {
  std::vector<TrialId> ids;
  for (const std::size_t index : cluster.core().plan()) ids.push_back(cluster.core().At(index).spec.id);
  return ids;
}

struct Undisturbed {
  std::vector<TrialId> trials;
  std::map<std::string, std::string> digests;
};

Undisturbed RunUndisturbed(const PlanSearch& plan) {
  SimulatedCluster cluster(1, 2, 1, {});
  EXPECT_TRUE(cluster.StartSearch(plan).ok());
  const Status ended = cluster.RunToEnd(kPatience);
  EXPECT_TRUE(ended.ok()) << ended.message();
  return {ListSuggestedTrials(cluster), cluster.Digests()};
}

void DieAndGoOn(const PlanSearch& plan, int operation, Crash crash, const Undisturbed& expected) {
  SCOPED_TRACE("died at disk operation " + std::to_string(operation));
  SimulatedCluster cluster(5, 2, 1, SomeTrouble());
  cluster.disk().StopAt(operation);
  Status status = cluster.StartSearch(plan);
  if (status.ok()) status = cluster.RunToEnd(kPatience);
  ASSERT_FALSE(status.ok());
  ASSERT_TRUE(cluster.disk().stopped());
  cluster.disk().Restart(crash);
  status = cluster.StartSearch(plan);
  ASSERT_TRUE(status.ok()) << status.message();
  status = cluster.RunToEnd(kPatience);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(ListSuggestedTrials(cluster), expected.trials);
  EXPECT_EQ(cluster.Digests(), expected.digests);
}

int CountOperations(const PlanSearch& plan) {
  SimulatedCluster cluster(5, 2, 1, SomeTrouble());
  EXPECT_TRUE(cluster.StartSearch(plan).ok());
  EXPECT_TRUE(cluster.RunToEnd(kPatience).ok());
  return cluster.disk().operations();
}

class SearchSimulation : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Each, SearchSimulation, ::testing::ValuesIn(kMethods),
                         [](const auto& method) { return std::string(method.param.name); });

TEST_P(SearchSimulation, EveryRoundIsRunAndTheSweepEnds) {
  const PlanSearch plan = PlanRounds(GetParam());
  const Undisturbed run = RunUndisturbed(plan);
  EXPECT_EQ(run.trials.size(), GetParam().trials);
  EXPECT_EQ(run.digests.size(), GetParam().trials);
}

TEST_P(SearchSimulation, NumberOfAgentsChangesNoSuggestion) {
  const PlanSearch plan = PlanRounds(GetParam());
  const Undisturbed expected = RunUndisturbed(plan);
  for (const int agents : {1, 3}) {
    SimulatedCluster cluster(7, agents, 2, SomeTrouble());
    ASSERT_TRUE(cluster.StartSearch(plan).ok());
    ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
    EXPECT_EQ(ListSuggestedTrials(cluster), expected.trials);
  }
}

TEST_P(SearchSimulation, AfterEveryDiskOperationItGoesOnTheSame) {
  const PlanSearch plan = PlanRounds(GetParam());
  const Undisturbed expected = RunUndisturbed(plan);
  const int operations = CountOperations(plan);
  ASSERT_GT(operations, 50);
  for (int operation = 1; operation < operations; ++operation)
    DieAndGoOn(plan, operation, Crash::process_killed, expected);
}

TEST_P(SearchSimulation, WithPowerLossToo) {
  const PlanSearch plan = PlanRounds(GetParam());
  const Undisturbed expected = RunUndisturbed(plan);
  const int operations = CountOperations(plan);
  for (int operation = 1; operation < operations; operation += 3)
    DieAndGoOn(plan, operation, Crash::power_lost_torn, expected);
}

// Suggestions are in the journal before a trial of theirs is leased, in every prefix of it.
TEST_P(SearchSimulation, JournalPlansARoundBeforeItLeases) {
  const PlanSearch plan = PlanRounds(GetParam());
  SimulatedCluster cluster(5, 2, 1, SomeTrouble());
  ASSERT_TRUE(cluster.StartSearch(plan).ok());
  ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
  const std::string path = orchestrator::JournalPath(SimulatedCluster::kResults);
  const Result<storage::LogContents> log = storage::ReadRecordLog(cluster.disk(), path, storage::LogKind::journal);
  ASSERT_TRUE(log.ok());
  orchestrator::Core core(orchestrator::Settings{});
  orchestrator::JournalCodec codec;
  std::size_t rounds = 0, planned = 0;
  for (const storage::Record& record : log->records) {
    ASSERT_TRUE(orchestrator::ReplayRecord(record, codec, core).ok());
    if (core.plan().size() == planned) continue;
    planned = core.plan().size();
    ++rounds;
    for (const std::size_t index : core.plan())
      EXPECT_TRUE(IsFinal(core.At(index).state) || core.At(index).attempts == 0);
  }
  EXPECT_EQ(planned, GetParam().trials);
  EXPECT_EQ(rounds, GetParam().rounds);
}

TEST_P(SearchSimulation, StopBetweenTwoRoundsIsNoEnd) {
  const PlanSearch plan = PlanRounds(GetParam());
  SimulatedCluster cluster(5, 1, 1, {});
  ASSERT_TRUE(cluster.StartSearch(plan).ok());
  orchestrator::Outbox outbox;
  while (cluster.core().plan().size() == GetParam().first) ASSERT_TRUE(cluster.Step().ok());
  orchestrator::OnStopRequested(cluster.core(), "a signal", 0, cluster.now(), outbox);
  ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
  EXPECT_EQ(orchestrator::SweepExitCode(cluster.core()), 75);
}

TEST_P(SearchSimulation, PlanThatLosesATrialIsRefused) {
  SimulatedCluster cluster(5, 1, 1, {});
  bool first = true;
  const PlanSearch forgetful = [&first](const SearchHistory& history) -> Result<SweepPlan> {
    RETORT_ASSIGN_OR_RETURN(SweepPlan plan, PlanRound(GetParam(), history));
    if (!std::exchange(first, false)) plan.trials.erase(plan.trials.begin());
    return plan;
  };
  ASSERT_TRUE(cluster.StartSearch(forgetful).ok());
  const Status status = cluster.RunToEnd(kPatience);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_NE(status.message().find("only adds trials"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace retort::testing
