// A search on a cluster that crashes and is killed: the same suggestions in the same order, and the same rows. Of asha,
// whose suggestions follow from the order in which trials end: those that were decided stay, and each follows the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/reactor/scheduler.h"
#include "orchestrator/reactor/search_rounds.h"
#include "tests/simulation/simulated_cluster.h"
#include "tests/testing/promotion_rules.h"

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
  const std::string path = orchestrator::GetJournalPath(SimulatedCluster::kResults);
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
  EXPECT_EQ(orchestrator::ChooseSweepExitCode(cluster.core()), 75);
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

// asha. Some trials of each rung take long.
const Method kAsha = {
    "Asha", "method = \"asha\"\ntrials = 6\nreduction = 2\nrungs.norm_bound = [0.1, 0.2, 0.4]\nspace.steps = [3, 20]\n",
    0, 0, 0};
const Method kSlowAsha = {
    "SlowAsha",
    "method = \"asha\"\ntrials = 9\nreduction = 2\nrungs.norm_bound = [0.1, 0.2, 0.4]\nspace.steps = [3, 5, 40]\n", 0,
    0, 0};
constexpr std::array<double, 3> kBounds = {0.1, 0.2, 0.4};

std::vector<TriedSetting> ListTried(const orchestrator::Core& core) {
  std::vector<TriedSetting> tried;
  for (const std::size_t index : core.plan()) {
    const orchestrator::Trial& trial = core.At(index);
    const auto rung = std::find(kBounds.begin(), kBounds.end(), trial.spec.release.norm_bound) - kBounds.begin();
    TriedSetting one{trial.spec.optimization.lr, static_cast<std::size_t>(rung), IsFinal(trial.state), std::nullopt};
    if (trial.state == orchestrator::TrialState::succeeded && trial.row)
      for (const auto& [name, value] : trial.row->metrics)
        if (name == "public.accuracy") one.score = value;
    tried.push_back(one);
  }
  return tried;
}

struct Decisions {
  std::vector<TrialId> trials;  // in the order in which they were decided
  std::string breach;           // of the rule; empty where there is none
};

// Replays the journal: every suggestion has to follow from what had ended when it was decided.
Decisions ReadDecisions(SimulatedCluster& cluster) {
  Decisions decisions;
  const std::string path = orchestrator::GetJournalPath(SimulatedCluster::kResults);
  const Result<storage::LogContents> log = storage::ReadRecordLog(cluster.disk(), path, storage::LogKind::journal);
  if (!log.ok()) return decisions;
  orchestrator::Core core(orchestrator::Settings{});
  orchestrator::JournalCodec codec;
  for (const storage::Record& record : log->records) {
    EXPECT_TRUE(orchestrator::ReplayRecord(record, codec, core).ok());
    if (core.plan().size() == decisions.trials.size()) continue;
    for (std::size_t i = 0; i < core.plan().size(); ++i) {
      const TrialId id = core.At(core.plan()[i]).spec.id;
      if (i < decisions.trials.size()) {
        EXPECT_EQ(id, decisions.trials[i]) << "what was decided changed";
        continue;
      }
      std::vector<TriedSetting> tried = ListTried(core);
      const TriedSetting decided = tried[i];
      tried.resize(i);
      const std::string breach = FindBreach(tried, decided, 2, kBounds.size());
      if (!breach.empty()) decisions.breach = "suggestion " + std::to_string(i) + ": " + breach;
      decisions.trials.push_back(id);
    }
  }
  return decisions;
}

// Steps to the end. A slot that is free has nothing that it could try, at any time.
Status RunWithoutIdleSlots(SimulatedCluster& cluster, const PlanSearch& plan) {
  for (int step = 0; step < kPatience; ++step) {
    orchestrator::Core& core = cluster.core();
    if (core.ended) return {};
    if (core.fills_slots && orchestrator::CountIdleSlots(core, cluster.now()) > 0) {
      RETORT_ASSIGN_OR_RETURN(SearchHistory history, orchestrator::CollectHistory(core));
      history.room = 1;
      RETORT_ASSIGN_OR_RETURN(const SweepPlan next, plan(history));
      EXPECT_EQ(next.trials.size(), core.plan().size()) << "a slot waits";
    }
    RETORT_RETURN_IF_ERROR(cluster.Step());
  }
  return Refused("the sweep did not end");
}

TEST(AshaSimulation, EveryDecisionFollowsTheRuleAndNoSlotWaits) {
  const PlanSearch plan = PlanRounds(kAsha);
  std::set<std::vector<TrialId>> runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedCluster cluster(seed, 1 + static_cast<int>(seed % 3), 2, SomeTrouble());
    ASSERT_TRUE(cluster.StartSearch(plan).ok());
    const Status ended = RunWithoutIdleSlots(cluster, plan);
    ASSERT_TRUE(ended.ok()) << ended.message();
    const Decisions decisions = ReadDecisions(cluster);
    EXPECT_EQ(decisions.breach, "");
    EXPECT_EQ(decisions.trials, ListSuggestedTrials(cluster));
    EXPECT_TRUE(ListOpenRungs(ListTried(cluster.core()), 2, kBounds.size()).empty());
    EXPECT_EQ(orchestrator::ChooseSweepExitCode(cluster.core()), 0);
    runs.insert(decisions.trials);
  }
  EXPECT_GT(runs.size(), 1U);  // the order of ends does decide
}

TEST(AshaSimulation, SlowTrialsKeepNoRungWaiting) {
  const PlanSearch plan = PlanRounds(kSlowAsha);
  SimulatedCluster cluster(3, 3, 2, {});
  ASSERT_TRUE(cluster.StartSearch(plan).ok());
  bool overtaken = false;
  for (int step = 0; step < kPatience && !cluster.core().ended; ++step) {
    ASSERT_TRUE(cluster.Step().ok());
    const std::vector<TriedSetting> tried = ListTried(cluster.core());
    const auto top = [](const TriedSetting& one) { return one.rung == 2; };
    const auto slow = [](const TriedSetting& one) { return one.rung == 0 && !one.ended; };
    overtaken =
        overtaken || (std::any_of(tried.begin(), tried.end(), top) && std::any_of(tried.begin(), tried.end(), slow));
  }
  EXPECT_TRUE(overtaken);
}

// What stood in the journal when it died is the beginning of what was decided in all.
void DieAndKeepDecisions(const PlanSearch& plan, int operation, Crash crash) {
  SCOPED_TRACE("died at disk operation " + std::to_string(operation));
  SimulatedCluster cluster(5, 2, 1, SomeTrouble());
  cluster.disk().StopAt(operation);
  Status status = cluster.StartSearch(plan);
  if (status.ok()) status = cluster.RunToEnd(kPatience);
  ASSERT_FALSE(status.ok());
  cluster.disk().Restart(crash);
  const std::vector<TrialId> kept = ReadDecisions(cluster).trials;
  status = cluster.StartSearch(plan);
  ASSERT_TRUE(status.ok()) << status.message();
  status = cluster.RunToEnd(kPatience);
  ASSERT_TRUE(status.ok()) << status.message();
  const Decisions all = ReadDecisions(cluster);
  EXPECT_EQ(all.breach, "");
  for (std::size_t i = 0; i < all.trials.size(); ++i)
    EXPECT_EQ(FindSuggestion(cluster.core().Get(all.trials[i]).spec), i);
  ASSERT_GE(all.trials.size(), kept.size());
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), all.trials.begin()));
  EXPECT_EQ(cluster.Digests().size(), all.trials.size());
  EXPECT_TRUE(ListOpenRungs(ListTried(cluster.core()), 2, kBounds.size()).empty());
}

TEST(AshaSimulation, AfterEveryDiskOperationDecisionsStay) {
  const PlanSearch plan = PlanRounds(kAsha);
  const int operations = CountOperations(plan);
  ASSERT_GT(operations, 50);
  for (int operation = 1; operation < operations; ++operation)
    DieAndKeepDecisions(plan, operation, Crash::process_killed);
}

TEST(AshaSimulation, WithPowerLossDecisionsStayToo) {
  const PlanSearch plan = PlanRounds(kAsha);
  const int operations = CountOperations(plan);
  for (int operation = 1; operation < operations; operation += 7)
    DieAndKeepDecisions(plan, operation, Crash::power_lost_torn);
}

// asha takes up again what an earlier plan has run: nothing runs twice, and every number is that of the decision.
void GoOnWithAnother(const Method& first, const Method& second, std::size_t on_first_rung, std::size_t reduction) {
  const PlanSearch before = PlanRounds(first), after = PlanRounds(second);
  SimulatedCluster cluster(5, 2, 1, SomeTrouble());
  ASSERT_TRUE(cluster.StartSearch(before).ok());
  ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
  ASSERT_TRUE(cluster.StartSearch(after).ok());
  const Status ended = cluster.RunToEnd(kPatience);
  ASSERT_TRUE(ended.ok()) << ended.message();
  const orchestrator::Core& core = cluster.core();
  EXPECT_EQ(orchestrator::ChooseSweepExitCode(core), 0);
  for (std::size_t i = 0; i < core.plan().size(); ++i)
    EXPECT_EQ(FindSuggestion(core.At(core.plan()[i]).spec), i) << "a gap, after which the search cannot go on";
  const std::vector<TriedSetting> tried = ListTried(core);
  EXPECT_TRUE(ListOpenRungs(tried, reduction, kBounds.size()).empty());
  const auto first_rung = [](const TriedSetting& one) { return one.rung == 0; };
  EXPECT_EQ(std::count_if(tried.begin(), tried.end(), first_rung), static_cast<std::ptrdiff_t>(on_first_rung));
  const std::vector<TrialId> all = ListSuggestedTrials(cluster);
  ASSERT_TRUE(cluster.StartSearch(after).ok());
  ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
  EXPECT_EQ(ListSuggestedTrials(cluster), all);
}

constexpr const char* kBoundsAndSteps = "rungs.norm_bound = [0.1, 0.2, 0.4]\nspace.steps = [3, 20]\n";

TEST(AshaSimulation, GoesOnAfterSuccessiveHalving) {
  const std::string halving =
      std::string("method = \"successive-halving\"\ntrials = 6\nreduction = 2\n") + kBoundsAndSteps;
  GoOnWithAnother({"Halving", halving.c_str(), 0, 0, 0}, kAsha, 6, 2);
}

TEST(AshaSimulation, GoesOnWithAnotherReduction) {
  const std::string ninth = std::string("method = \"asha\"\ntrials = 9\nreduction = 3\n") + kBoundsAndSteps;
  const std::string half = std::string("method = \"asha\"\ntrials = 9\nreduction = 2\n") + kBoundsAndSteps;
  GoOnWithAnother({"Third", ninth.c_str(), 0, 0, 0}, {"Half", half.c_str(), 0, 0, 0}, 9, 2);
  GoOnWithAnother({"Half", half.c_str(), 0, 0, 0}, {"Third", ninth.c_str(), 0, 0, 0}, 9, 3);
}

TEST(AshaSimulation, GoesOnWithFewerTrials) {
  const std::string more = std::string("method = \"asha\"\ntrials = 9\nreduction = 2\n") + kBoundsAndSteps;
  GoOnWithAnother({"More", more.c_str(), 0, 0, 0}, kAsha, 6, 2);
}

TEST(AshaSimulation, GoesOnWithAnotherRung) {
  const std::string two =
      "method = \"asha\"\ntrials = 6\nreduction = 2\nrungs.norm_bound = [0.1, 0.2]\nspace.steps = [3, 20]\n";
  GoOnWithAnother({"TwoRungs", two.c_str(), 0, 0, 0}, kAsha, 6, 2);
}

// A plan that lacks a trial ends the run, but not before what runs has ended.
TEST(AshaSimulation, PlanThatLosesATrialWaitsForWhatRuns) {
  SimulatedCluster cluster(5, 3, 1, {});
  const PlanSearch plan = PlanRounds(kAsha);
  int asked = 0;
  const PlanSearch forgetful = [&](const SearchHistory& history) -> Result<SweepPlan> {
    RETORT_ASSIGN_OR_RETURN(SweepPlan next, plan(history));
    if (++asked > 6) next.trials.erase(next.trials.begin());
    return next;
  };
  ASSERT_TRUE(cluster.StartSearch(forgetful).ok());
  const Status status = cluster.RunToEnd(kPatience);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_NE(status.message().find("only adds trials"), std::string::npos) << status.message();
  EXPECT_TRUE(cluster.core().AllFinal());
  // It was known, and could be told, while trials ran.
  EXPECT_EQ(cluster.core().search_trouble, status.message());
}

TEST(AshaSimulation, FinishedSearchIsNotGoneOnWith) {
  const PlanSearch plan = PlanRounds(kAsha);
  SimulatedCluster cluster(5, 2, 1, {});
  ASSERT_TRUE(cluster.StartSearch(plan).ok());
  ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
  const std::vector<TrialId> all = ListSuggestedTrials(cluster);
  ASSERT_TRUE(cluster.StartSearch(plan).ok());
  ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
  EXPECT_EQ(ListSuggestedTrials(cluster), all);
}

TEST(AshaSimulation, StopIsNoEnd) {
  const PlanSearch plan = PlanRounds(kAsha);
  SimulatedCluster cluster(5, 1, 1, {});
  ASSERT_TRUE(cluster.StartSearch(plan).ok());
  orchestrator::Outbox outbox;
  while (cluster.core().plan().size() < 5) ASSERT_TRUE(cluster.Step().ok());
  orchestrator::OnStopRequested(cluster.core(), "a signal", 0, cluster.now(), outbox);
  ASSERT_TRUE(cluster.RunToEnd(kPatience).ok());
  EXPECT_EQ(orchestrator::ChooseSweepExitCode(cluster.core()), 75);
}

}  // namespace
}  // namespace retort::testing
