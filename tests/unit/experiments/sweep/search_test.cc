// [sweep.search]: what it reads and refuses, and the trials that it suggests.
#include "experiments/sweep/search_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "experiments/sweep/search_points.h"
#include "tests/testing/promotion_rules.h"
#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using retort::testing::FindBreach;
using retort::testing::TriedSetting;
using ::testing::HasSubstr;

// Lines 6 to 10; the search stands from line 11 on.
const std::string kTuned =
    "[trial]\n"
    "method = \"dpsgd\"\n"
    "noise_multiplier = 2\n"
    "[sweep]\n"
    "name = \"tuned\"\n";
const std::string kSpace =
    "space.lr = { low = 1e-3, high = 1, scale = \"log\" }\n"
    "space.steps = { low = 30, high = 300 }\n"
    "space.student = [\"logistic\", \"tanh-cnn\"]\n";

std::string Searching(const std::string& keys, const std::string& space = kSpace) {
  return kHead + kTuned + "[sweep.search]\n" + keys + space;
}

std::string SearchError(const std::string& text) {
  const PlanOutcome outcome = PlanText(text);
  return outcome.errors.empty() ? "" : Render(outcome.errors.front());
}

std::vector<TrialId> ListIds(const SweepPlan& plan) {
  std::vector<TrialId> ids;
  for (const TrialSpec& trial : plan.trials) ids.push_back(trial.id);
  return ids;
}

// What a results folder would say after `plan`: the first `ended` trials have a score that prefers a rate near 0.1.
std::shared_ptr<SearchHistory> Measure(const SweepPlan& plan, std::size_t ended = 1000) {
  auto history = std::make_shared<SearchHistory>();
  history->identity = IdentifySearchIn(plan.resolved_toml);
  for (const TrialSpec& spec : plan.trials) {
    history->planned.emplace(FindSuggestion(spec).value(), spec);
    SearchOutcome& outcome = history->outcomes[spec.id];
    if (history->outcomes.size() > ended) continue;
    outcome = {true, 1 - std::abs(std::log10(spec.optimization.lr) + 1)};
  }
  return history;
}

// Plans, measures, and plans again until nothing more is suggested.
SweepPlan SearchToTheEnd(const std::string& text, SweepPlan plan) {
  for (std::size_t known = 0; known < plan.trials.size();) {
    known = plan.trials.size();
    PlanOptions options;
    options.history = Measure(plan);
    plan = GoodPlan(text, options);
  }
  return plan;
}

TEST(SweepSearch, TrialsAreSuggestedFromTheSpace) {
  for (const char* method : {"random", "latin-hypercube"}) {
    const SweepPlan plan = GoodPlan(Searching("method = \"" + std::string(method) + "\"\ntrials = 20\n"));
    ASSERT_TRUE(plan.search);
    ASSERT_EQ(plan.trials.size(), 20U);
    std::set<std::string> students;
    for (const TrialSpec& trial : plan.trials) {
      EXPECT_GE(trial.optimization.lr, 1e-3);
      EXPECT_LE(trial.optimization.lr, 1);
      EXPECT_GE(trial.steps, 30);
      EXPECT_LE(trial.steps, 300);
      EXPECT_EQ(trial.score, "public.accuracy");
      EXPECT_TRUE(trial.draw.empty());
      students.insert(trial.network);
    }
    EXPECT_EQ(students.size(), 2U);
  }
}

TEST(SweepSearch, SameSeedSameTrialsAnotherSeedOthers) {
  const std::string keys = "method = \"random\"\ntrials = 8\n";
  EXPECT_EQ(ListIds(GoodPlan(Searching(keys))), ListIds(GoodPlan(Searching(keys))));
  EXPECT_NE(ListIds(GoodPlan(Searching(keys))), ListIds(GoodPlan(Searching(keys + "seed = 1\n"))));
}

TEST(SweepSearch, RatesHaveFewDigitsAndSpreadOverDecades) {
  const SweepPlan plan = GoodPlan(Searching("method = \"latin-hypercube\"\ntrials = 30\n"));
  int below = 0;
  for (const TrialSpec& trial : plan.trials) {
    EXPECT_LE(FormatKey(trial, "lr").size(), 8U) << FormatKey(trial, "lr");
    below += trial.optimization.lr < 0.01 ? 1 : 0;
  }
  EXPECT_EQ(below, 10);  // a third of three decades
}

TEST(SweepSearch, SeedsAndAxesRepeatEverySuggestion) {
  const std::string text = kHead + kTuned + "seeds = [0, 1]\ngrid.batch = [64, 128]\n[sweep.search]\ntrials = 3\n" +
                           "method = \"random\"\n" + kSpace;
  const SweepPlan plan = GoodPlan(text);
  ASSERT_EQ(plan.trials.size(), 12U);
  std::map<std::size_t, std::set<double>> rates;
  for (const TrialSpec& trial : plan.trials) rates[FindSuggestion(trial).value()].insert(trial.optimization.lr);
  ASSERT_EQ(rates.size(), 3U);
  for (const auto& [suggestion, values] : rates) EXPECT_EQ(values.size(), 1U);
}

const std::string kRungs = "method = \"successive-halving\"\ntrials = 9\nrungs.steps = [10, 30, 90]\n";
const std::string kRungSpace = "space.lr = { low = 1e-3, high = 1, scale = \"log\" }\n";

TEST(SweepSearch, TheBestOfARungRunOnTheNext) {
  const std::string text = Searching(kRungs, kRungSpace);
  const SweepPlan first = GoodPlan(text);
  ASSERT_EQ(first.trials.size(), 9U);
  const SweepPlan all = SearchToTheEnd(text, first);
  ASSERT_EQ(all.trials.size(), 13U);
  std::multiset<double> left;  // distances from the best rate, by rung
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(all.trials[i].id, first.trials[i].id);
    EXPECT_EQ(all.trials[i].steps, 10);
    left.insert(std::abs(std::log10(all.trials[i].optimization.lr) + 1));
  }
  auto next = left.begin();
  for (std::size_t i = 9; i < 12; ++i, ++next) {
    EXPECT_EQ(all.trials[i].steps, 30);
    EXPECT_EQ(std::abs(std::log10(all.trials[i].optimization.lr) + 1), *next);
  }
  EXPECT_EQ(all.trials[12].steps, 90);
  EXPECT_EQ(all.trials[12].optimization.lr, all.trials[9].optimization.lr);
}

TEST(SweepSearch, RungWaitsUntilTheOneBeforeHasEnded) {
  const std::string text = Searching(kRungs, kRungSpace);
  const SweepPlan first = GoodPlan(text);
  PlanOptions options;
  options.history = Measure(first, 8);
  EXPECT_EQ(GoodPlan(text, options).trials.size(), 9U);
  auto half_failed = Measure(first);  // what failed stays behind
  std::size_t number = 0;
  for (auto& [id, outcome] : half_failed->outcomes)
    if (number++ < 7) outcome.score.reset();
  options.history = half_failed;
  EXPECT_EQ(GoodPlan(text, options).trials.size(), 11U);
  for (auto& [id, outcome] : half_failed->outcomes) outcome.score.reset();
  EXPECT_EQ(GoodPlan(text, options).trials.size(), 9U);
}

TEST(SweepSearch, RungsAreAscendingValuesOfOneOtherKey) {
  struct Bad {
    std::string keys, says;
  };
  const std::string halving = "method = \"successive-halving\"\n";
  const std::string asha = "method = \"asha\"\n";
  for (const Bad& bad : {
           Bad{asha + "trials = 9\n", "rungs is missing"},
           Bad{asha + "trials = 9\nrungs.steps = [30, 10]\n", "has to grow from rung to rung"},
           Bad{asha + "trials = 8\nrungs.steps = [10, 20, 30]\n", "none are left for the last"},
           Bad{asha + "trials = 9\nreduction = 1\nrungs.steps = [10, 20]\n", "reduction"},
           Bad{asha + "trials = 0\nrungs.steps = [10, 20]\n", "trials"},
           Bad{asha + "trials = 9\nscore = \"test.accuracy\"\nrungs.steps = [10, 20]\n", "reads the test split"},
           Bad{halving + "trials = 9\n", "rungs is missing"},
           Bad{halving + "trials = 9\nrungs.steps = [30, 10]\n", "has to grow from rung to rung"},
           Bad{halving + "trials = 9\nrungs.lr = [0.1, 0.2]\n", "searched in space too"},
           Bad{halving + "trials = 9\nrungs.student = [\"logistic\", \"tanh-cnn\"]\n", "is no number"},
           Bad{halving + "trials = 9\nrungs.steps = { low = 1, high = 9 }\n", "takes an array"},
           Bad{halving + "trials = 9\nrungs.steps = [10, 20]\nrungs.batch = [8, 16]\n", "one key and its values"},
           Bad{halving + "trials = 9\nrungs.stepz = [10, 20]\n", "stepz"},
           Bad{halving + "trials = 8\nrungs.steps = [10, 20, 30]\n", "none are left for the last"},
           Bad{halving + "trials = 9\nreduction = 1\nrungs.steps = [10, 20]\n", "reduction"},
           Bad{"method = \"random\"\ntrials = 9\nrungs.steps = [10, 20]\n",
               "goes with method = \"successive-halving\" or \"asha\" alone"},
       }) {
    const std::string error = SearchError(Searching(bad.keys, kRungSpace));
    EXPECT_THAT(error, HasSubstr(bad.says)) << bad.keys;
    EXPECT_THAT(error, HasSubstr("test.toml:1")) << bad.keys;
  }
}

TEST(SweepSearch, TermsOfRungsAreReadBackFromTheText) {
  const SweepPlan plan = GoodPlan(Searching(kRungs, kRungSpace));
  const SearchTerms terms = MakeSearchTerms(*plan.search);
  const std::optional<SearchTerms> read = ReadSearchTerms(plan.resolved_toml);
  ASSERT_TRUE(read);
  EXPECT_EQ(terms.trials, 13);
  EXPECT_EQ(read->trials, 13);
  EXPECT_EQ(terms.rung_key, "steps");
  EXPECT_EQ(read->rung_key, "steps");
  EXPECT_EQ(read->keys, terms.keys);
  // Other rungs are another search.
  EXPECT_NE(IdentifySearchIn(plan.resolved_toml),
            IdentifySearchIn(GoodPlan(Searching(kRungs + "reduction = 2\n", kRungSpace)).resolved_toml));
}

TEST(SweepSearch, EveryRungIsCalibratedToItsOwnSteps) {
  PlanHooks hooks = FakeHooks();
  hooks.calibrate = [](TrialSpec& spec) {
    spec.release.noise_multiplier = static_cast<double>(spec.steps);
    return Status();
  };
  for (const char* method : {"successive-halving", "asha"}) {
    const std::string text =
        Searching("method = \"" + std::string(method) + "\"\ntrials = 3\nrungs.steps = [10, 30]\n", kRungSpace);
    const SweepPlan first = GoodPlan(text, {}, hooks);
    PlanOptions options;
    const auto history = Measure(first);
    history->room = 1;
    options.history = history;
    const SweepPlan plan = GoodPlan(text, options, hooks);
    ASSERT_EQ(plan.trials.size(), 4U) << method;
    EXPECT_EQ(plan.trials.back().release.noise_multiplier, 30);
    EXPECT_EQ(plan.trials.front().release.noise_multiplier, 10);
  }
}

const std::string kAsha = "method = \"asha\"\ntrials = 9\nrungs.steps = [10, 30, 90]\n";

// A run of asha whose trials end as the test says. Each decision is checked against the rule when it is made.
class ScriptedRun {
 public:
  ScriptedRun(std::string text, std::size_t slots) : text_(std::move(text)), slots_(slots) {}

  // Gives the free slots what is suggested for them.
  void FillSlots() {
    plan_ = Plan(slots_ - running_.size());
    ASSERT_TRUE(std::equal(ids_.begin(), ids_.end(), ListIds(plan_).begin())) << "what was decided changed";
    for (std::size_t i = ids_.size(); i < plan_.trials.size(); ++i) {
      std::vector<TriedSetting> tried = ListTried();
      const TriedSetting decided = tried[i];
      tried.resize(i);
      EXPECT_EQ(FindBreach(tried, decided, 3, kSteps.size()), "") << "suggestion " << i;
      running_.push_back(plan_.trials[i].id);
    }
    ids_ = ListIds(plan_);
    EXPECT_EQ(ListIds(Plan(0)), ids_) << "a run that was killed here goes on with others";
  }

  void End(std::size_t which, bool failed = false) {
    const TrialId id = running_.at(which);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
    const auto spec = std::find_if(plan_.trials.begin(), plan_.trials.end(), [&](const auto& s) { return s.id == id; });
    outcomes_[id].ended = true;
    // Longer trials score otherwise, so that the order of a rung is not that of the one before.
    const double shift = static_cast<double>(spec->steps % 7) / 20;
    if (!failed) outcomes_[id].score = 1 - std::abs(std::log10(spec->optimization.lr) + 1 - shift);
  }

  [[nodiscard]] std::size_t CountOn(std::int64_t steps) const {
    return static_cast<std::size_t>(std::count_if(plan_.trials.begin(), plan_.trials.end(),
                                                  [steps](const TrialSpec& spec) { return spec.steps == steps; }));
  }
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] std::size_t FindRunning(TrialId id) const {
    return static_cast<std::size_t>(std::find(running_.begin(), running_.end(), id) - running_.begin());
  }
  [[nodiscard]] const SweepPlan& plan() const { return plan_; }
  void ChangeText(std::string text) { text_ = std::move(text); }

 private:
  [[nodiscard]] SweepPlan Plan(std::size_t room) const {
    auto history = std::make_shared<SearchHistory>();
    history->identity = plan_.resolved_toml.empty() ? "" : IdentifySearchIn(plan_.resolved_toml);
    for (const TrialSpec& spec : plan_.trials) history->planned.emplace(FindSuggestion(spec).value(), spec);
    history->outcomes = outcomes_;
    for (const TrialSpec& spec : plan_.trials) history->outcomes.try_emplace(spec.id);
    history->room = room;
    PlanOptions options;
    options.history = history;
    return GoodPlan(text_, options);
  }
  [[nodiscard]] std::vector<TriedSetting> ListTried() const {
    std::vector<TriedSetting> tried;
    for (const TrialSpec& spec : plan_.trials) {
      const auto found = outcomes_.find(spec.id);
      const SearchOutcome outcome = found == outcomes_.end() ? SearchOutcome() : found->second;
      const auto rung = static_cast<std::size_t>(std::find(kSteps.begin(), kSteps.end(), spec.steps) - kSteps.begin());
      tried.push_back({spec.optimization.lr, rung, outcome.ended, outcome.score});
    }
    return tried;
  }

  static constexpr std::array<std::int64_t, 3> kSteps = {10, 30, 90};
  std::string text_;
  std::size_t slots_;
  SweepPlan plan_;
  std::vector<TrialId> ids_, running_;
  std::map<TrialId, SearchOutcome> outcomes_;
};

TEST(SweepSearch, AshaDecidesByTheRuleInEveryOrderOfEnds) {
  for (std::uint64_t order = 0; order < 40; ++order) {
    SCOPED_TRACE("order " + std::to_string(order));
    std::mt19937_64 random(order);
    ScriptedRun run(Searching(kAsha, kRungSpace), 1 + order % 4);
    run.FillSlots();
    while (run.running() > 0) {
      run.End(random() % run.running(), random() % 8 == 0);
      run.FillSlots();
    }
    EXPECT_EQ(run.CountOn(10), 9U);
    EXPECT_GE(run.CountOn(30), 1U);
  }
}

TEST(SweepSearch, AshaWithoutFailuresReachesTheLastRung) {
  ScriptedRun run(Searching(kAsha, kRungSpace), 2);
  run.FillSlots();
  while (run.running() > 0) {
    run.End(0);
    run.FillSlots();
  }
  EXPECT_GE(run.CountOn(30), 3U);
  EXPECT_GE(run.CountOn(90), 1U);
}

TEST(SweepSearch, OneSlowTrialOfAshaKeepsNoSlotWaiting) {
  std::string keys = kAsha;
  keys.replace(keys.find("trials = 9"), 10, "trials = 18");
  ScriptedRun run(Searching(keys, kRungSpace), 3);
  run.FillSlots();
  const TrialId slow = run.plan().trials.front().id;
  std::size_t full = 0;
  while (run.running() > 1) {
    run.End(run.FindRunning(slow) == 0 ? 1 : 0);
    run.FillSlots();
    full += run.running() == 3 ? 1 : 0;
  }
  EXPECT_GE(run.CountOn(90), 1U);  // though one of the first rung has not ended
  EXPECT_EQ(run.FindRunning(slow), 0U);
  EXPECT_GE(full, 15U);
}

TEST(SweepSearch, FailedTrialsOfAshaStayBehind) {
  ScriptedRun run(Searching(kAsha, kRungSpace), 3);
  run.FillSlots();
  while (run.running() > 0) {
    run.End(0, true);
    run.FillSlots();
  }
  EXPECT_EQ(run.plan().trials.size(), 9U);
}

TEST(SweepSearch, AshaStartsTheSameFirstRungInEveryOrder) {
  const std::vector<TrialId> listed = ListIds(GoodPlan(Searching(kAsha, kRungSpace)));  // before anything runs
  ASSERT_EQ(listed.size(), 9U);
  for (const std::uint64_t seed : {1, 2}) {
    std::mt19937_64 random(seed);
    ScriptedRun run(Searching(kAsha, kRungSpace), 4);
    run.FillSlots();
    while (run.running() > 0) {
      run.End(random() % run.running());
      run.FillSlots();
    }
    std::vector<TrialId> started;
    for (const TrialSpec& spec : run.plan().trials)
      if (spec.steps == 10) started.push_back(spec.id);
    EXPECT_EQ(started, listed);
  }
}

TEST(SweepSearch, MoreTrialsOfAshaGoOnFromWhatThereIs) {
  ScriptedRun run(Searching(kAsha, kRungSpace), 2);
  std::string more = kAsha;
  more.replace(more.find("trials = 9"), 10, "trials = 14");
  for (const std::string& keys : {kAsha, more}) {
    run.ChangeText(Searching(keys, kRungSpace));
    run.FillSlots();
    while (run.running() > 0) {
      run.End(0);
      run.FillSlots();  // fails where a trial that was decided is gone
    }
  }
  EXPECT_EQ(run.CountOn(10), 14U);
}

TEST(SweepSearch, ExcludedSuggestionsOfAshaTakeNoNumber) {
  const std::string space = "space.lr = { low = 1e-3, high = 1, scale = \"log\" }\nspace.batch = [64, 128]\n";
  const std::string head =
      kHead + kTuned + "exclude = [{ steps = 30, batch = 64 }, { steps = 10, batch = 128, seed = 5 }]\n";
  const SweepPlan first = GoodPlan(head + "[sweep.search]\n" + kAsha + space);
  auto history = Measure(first);
  history->room = 20;
  PlanOptions options;
  options.history = history;
  const SweepPlan plan = GoodPlan(head + "[sweep.search]\n" + kAsha + space, options);
  EXPECT_GT(plan.trials.size(), 9U);
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    EXPECT_EQ(FindSuggestion(plan.trials[i]), i);
    EXPECT_TRUE(plan.trials[i].steps == 10 || plan.trials[i].batch == 128);
  }
}

// All but `lost` trials of a plan, as the journal has them; `room` for more.
SweepPlan GoOnFrom(const SweepPlan& plan, const std::string& text, std::size_t room, std::set<std::size_t> lost = {}) {
  const auto history = Measure(plan);
  for (const std::size_t number : lost) history->planned.erase(number);
  history->room = room;
  PlanOptions options;
  options.history = history;
  return GoodPlan(text, options);
}

TEST(SweepSearch, AshaPassesOverNumbersThatAreMissing) {
  const std::string text = Searching(kAsha, kRungSpace);
  const SweepPlan first = GoodPlan(text);
  const SweepPlan plan = GoOnFrom(first, text, 1, {2, 4});
  ASSERT_EQ(plan.trials.size(), 8U);  // one of the two that go on of the seven that are left
  EXPECT_EQ(plan.trials.back().steps, 30);
  EXPECT_EQ(FindSuggestion(plan.trials.back()), 9U);
  EXPECT_EQ(FindSuggestion(plan.trials[2]), 3U);
}

TEST(SweepSearch, AshaRefusesKeysThatTrialsDoNotKeep) {
  const std::string when = kHead + kTuned + "when = [{ if = { steps = 30 }, set = { lr = 0.5 } }]\n[sweep.search]\n";
  const std::string always = kHead + kTuned + "when = [{ if = { steps = 10 }, set = { lr = 0.5 } }]\n[sweep.search]\n";
  EXPECT_THAT(SearchError(always + kAsha + kRungSpace), HasSubstr("leave the key to asha"));
  EXPECT_THAT(SearchError(always + kAsha + kRungSpace), HasSubstr("sweep.search.space.lr"));
  const SweepPlan first = GoodPlan(when + kAsha + kRungSpace);
  const auto history = Measure(first);
  history->room = 1;
  PlanOptions options;
  options.history = history;
  const PlanOutcome outcome = PlanText(when + kAsha + kRungSpace, options);
  ASSERT_FALSE(outcome.errors.empty());
  EXPECT_THAT(Render(outcome.errors.front()), HasSubstr("a trial has lr = 0.5 where asha decided"));
}

TEST(SweepSearch, AshaDoesNotBeginAnewWhereItCannotRead) {
  const std::string text = Searching(kAsha, kRungSpace);
  const auto history = Measure(GoodPlan(text));
  history->planned.find(3)->second.steps = 11;  // on no rung
  history->room = 1;
  PlanOptions options;
  options.history = history;
  const PlanOutcome outcome = PlanText(text, options);
  ASSERT_FALSE(outcome.errors.empty());
  EXPECT_THAT(Render(outcome.errors.front()), HasSubstr("suggestion 3 of the results folder"));
}

// The rule that the tests above decide by sees wrong decisions.
TEST(SweepSearch, WrongDecisionsOfAshaAreSeen) {
  const std::vector<TriedSetting> tried = {
      {1, 0, true, 0.5}, {2, 0, true, 0.9}, {3, 0, true, 0.7}, {4, 0, true, std::nullopt}, {5, 0, false, std::nullopt}};
  EXPECT_EQ(FindBreach(tried, {2, 1, false, std::nullopt}, 2, 3), "");
  EXPECT_EQ(FindBreach(tried, {3, 1, false, std::nullopt}, 2, 3), "");
  EXPECT_NE(FindBreach(tried, {1, 1, false, std::nullopt}, 2, 3), "") << "the third of four";
  EXPECT_NE(FindBreach(tried, {4, 1, false, std::nullopt}, 2, 3), "") << "it failed";
  EXPECT_NE(FindBreach(tried, {5, 1, false, std::nullopt}, 2, 3), "") << "it runs";
  EXPECT_NE(FindBreach(tried, {6, 0, false, std::nullopt}, 2, 3), "") << "one could be promoted";
  EXPECT_NE(FindBreach(tried, {2, 2, false, std::nullopt}, 2, 3), "") << "it skips a rung";
  EXPECT_NE(FindBreach(tried, {2, 0, false, std::nullopt}, 2, 3), "") << "twice";
}

TEST(SweepSearch, TermsOfAshaAreReadBackFromTheText) {
  const SweepPlan plan = GoodPlan(Searching(kAsha + "reduction = 2\n", kRungSpace));
  const SearchTerms terms = MakeSearchTerms(*plan.search);
  const std::optional<SearchTerms> read = ReadSearchTerms(plan.resolved_toml);
  ASSERT_TRUE(read);
  EXPECT_EQ(terms.trials, 9);
  EXPECT_EQ(read->trials, 9);
  EXPECT_EQ(read->reduction, 2);
  EXPECT_EQ(read->rungs, terms.rungs);
  EXPECT_EQ(read->rungs.size(), 3U);
  EXPECT_TRUE(read->IsAsynchronous());
  EXPECT_EQ(read->keys, terms.keys);
}

TEST(SweepSearch, TpePlansItsFirstRoundAlone) {
  EXPECT_EQ(GoodPlan(Searching("trials = 20\n")).trials.size(), 10U);
  EXPECT_EQ(GoodPlan(Searching("trials = 20\nstartup = 6\n")).trials.size(), 6U);
  EXPECT_EQ(GoodPlan(Searching("trials = 5\n")).trials.size(), 5U);
}

TEST(SweepSearch, RoundWaitsUntilTheOneBeforeHasEnded) {
  const std::string text = Searching("trials = 20\nstartup = 6\nbatch = 3\n");
  const SweepPlan first = GoodPlan(text);
  PlanOptions options;
  options.history = Measure(first, 5);
  EXPECT_EQ(GoodPlan(text, options).trials.size(), 6U);
  options.history = Measure(first);
  EXPECT_EQ(GoodPlan(text, options).trials.size(), 9U);
}

TEST(SweepSearch, EarlierSuggestionsStayWhenOthersCome) {
  const std::string text = Searching("trials = 14\nstartup = 4\nbatch = 5\n");
  const SweepPlan first = GoodPlan(text);
  const SweepPlan all = SearchToTheEnd(text, first);
  ASSERT_EQ(all.trials.size(), 14U);
  for (std::size_t i = 0; i < first.trials.size(); ++i) {
    EXPECT_EQ(all.trials[i].id, first.trials[i].id);
    EXPECT_EQ(all.trials[i].name, first.trials[i].name);
  }
}

TEST(SweepSearch, ScoresDecideWhatIsSuggested) {
  const std::string text = Searching("trials = 30\n");
  const SweepPlan plan = SearchToTheEnd(text, GoodPlan(text));
  ASSERT_EQ(plan.trials.size(), 30U);
  const auto distance = [&](std::size_t begin) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + 10; ++i) sum += std::abs(std::log10(plan.trials[i].optimization.lr) + 1);
    return sum;
  };
  EXPECT_LT(distance(20), 0.7 * distance(0));
}

TEST(SweepSearch, SuggestionsFollowFromScoresWithoutTheJournal) {
  const std::string text = Searching("trials = 20\nbatch = 2\n");
  const SweepPlan plan = SearchToTheEnd(text, GoodPlan(text));
  const auto history = Measure(plan);
  PlanOptions options;
  auto scores = std::make_shared<SearchHistory>();
  scores->outcomes = history->outcomes;  // and nothing of what was planned
  options.history = scores;
  EXPECT_EQ(ListIds(GoodPlan(text, options)), ListIds(plan));
}

TEST(SweepSearch, SuggestionsOfTheJournalStayWhateverScoresBecome) {
  const std::string text = Searching("trials = 20\n");
  const SweepPlan plan = SearchToTheEnd(text, GoodPlan(text));
  const auto history = Measure(plan);
  history->outcomes[plan.trials.front().id].score = 50;  // tried again meanwhile
  PlanOptions options;
  options.history = history;
  EXPECT_EQ(ListIds(GoodPlan(text, options)), ListIds(plan));
}

TEST(SweepSearch, MoreTrialsGoOnFromWhatThereIs) {
  const std::string text = Searching("trials = 14\n");
  const SweepPlan plan = SearchToTheEnd(text, GoodPlan(text));
  PlanOptions options;
  options.history = Measure(plan);
  const SweepPlan more = GoodPlan(Searching("trials = 18\n"), options);
  ASSERT_EQ(more.trials.size(), 18U);
  for (std::size_t i = 0; i < 14; ++i) EXPECT_EQ(more.trials[i].id, plan.trials[i].id);
}

TEST(SweepSearch, AnotherSpaceOrMethodOfTrialsBeginsAnew) {
  const SweepPlan plan = SearchToTheEnd(Searching("trials = 14\n"), GoodPlan(Searching("trials = 14\n")));
  PlanOptions options;
  options.history = Measure(plan);
  EXPECT_EQ(GoodPlan(Searching("trials = 14\nseed = 3\n"), options).trials.size(), 10U);
  std::string other = Searching("trials = 14\n");
  other.replace(other.find("noise_multiplier = 2"), 20, "noise_multiplier = 3");
  const SweepPlan anew = GoodPlan(other, options);
  ASSERT_EQ(anew.trials.size(), 10U);
  EXPECT_NE(anew.trials.front().id, plan.trials.front().id);
}

TEST(SweepSearch, FailedTrialsDoNotStopTheSearch) {
  const std::string text = Searching("trials = 14\n");
  const SweepPlan first = GoodPlan(text);
  const auto history = Measure(first);
  for (auto& [id, outcome] : history->outcomes) outcome = {true, std::nullopt};
  PlanOptions options;
  options.history = history;
  EXPECT_EQ(GoodPlan(text, options).trials.size(), 14U);
}

TEST(SweepSearch, EveryPointOfASmallSpaceIsTriedOnce) {
  const std::string space = "space.steps = { low = 1, high = 3 }\nspace.student = [\"logistic\", \"tanh-cnn\"]\n";
  for (const char* method : {"random", "latin-hypercube", "tpe"}) {
    const std::string text = Searching("trials = 6\nmethod = \"" + std::string(method) + "\"\n", space);
    EXPECT_EQ(SearchToTheEnd(text, GoodPlan(text)).trials.size(), 6U) << method;
  }
}

TEST(SweepSearch, MoreTrialsThanThereAreSettingsAreRefused) {
  const std::string error = SearchError(Searching("trials = 7\n", "space.steps = { low = 1, high = 6 }\n"));
  EXPECT_THAT(error, HasSubstr(":12:10"));
  EXPECT_THAT(error, HasSubstr("write trials = 6"));
}

TEST(SweepSearch, ScoreOnTheTestSplitIsRefused) {
  const std::string error = SearchError(Searching("trials = 7\nscore = \"test.accuracy\"\n"));
  EXPECT_THAT(error, HasSubstr(":13:"));
  EXPECT_THAT(error, HasSubstr("reads the test split"));
  EXPECT_THAT(error, HasSubstr("public.accuracy"));
}

TEST(SweepSearch, StopByTheTestSplitIsRefused) {
  std::string text = Searching("trials = 7\n");
  text.replace(text.find("[sweep]"), 0, "stop = { metric = \"test.accuracy\", above = 0.9 }\n");
  EXPECT_THAT(SearchError(text), HasSubstr("stops by its accuracy on the test split"));
}

TEST(SweepSearch, PublicExamplesAreNeeded) {
  std::string text = Searching("trials = 7\n");
  text.replace(text.find("public = [8000, 9000], "), 23, "");
  EXPECT_THAT(SearchError(text), HasSubstr("public part of its split"));
}

struct BadSpace {
  const char* space;
  const char* says;
};

TEST(SweepSearch, BadSpacesAreRefusedWithWhatIsRight) {
  for (const BadSpace& bad : {
           BadSpace{"space.lr = { low = 1, high = 1 }\n", "low has to be below high"},
           BadSpace{"space.lr = { low = 2, high = 1 }\n", "low has to be below high"},
           BadSpace{"space.weight_decay = { low = 0, high = 1, scale = \"log\" }\n", "scale = \"linear\""},
           BadSpace{"space.lr = { low = 0.1, high = 1, scale = \"cubic\" }\n", "linear"},
           BadSpace{"space.lr = { low = 0.1, high = 1, step = 2 }\n", "step"},
           BadSpace{"space.lr = { low = 0.1 }\n", "missing sweep.search.space.lr.high"},
           BadSpace{"space.lr = { low = 0.5, high = 2, integer = true }\n", "no whole number"},
           BadSpace{"space.steps = { low = 1.5, high = 20 }\n", "takes an integer"},
           BadSpace{"space.steps = { low = 1, high = 20, integer = false }\n", "leave integer = false out"},
           BadSpace{"space.steps = { low = 0, high = 20 }\n", "out of range"},
           BadSpace{"space.student = { low = 0, high = 20 }\n", "list its values"},
           BadSpace{"space.student = [\"logistic\"]\n", "write it in [trial]"},
           BadSpace{"space.student = []\n", "nothing to choose from"},
           BadSpace{"space.lr = [0.1, 0.1]\n", "stands here twice"},
           BadSpace{"space.lr = 3\n", "takes a range"},
           BadSpace{"space.stepz = [1, 2]\n", "steps"},
           BadSpace{"space.seed = [0, 1]\n", "sweep.seeds"},
           BadSpace{"space = {}\n", "names no key"},
           BadSpace{"", "missing sweep.search.space"},
           BadSpace{"space.latent = { low = 2, high = 9 }\n", "reaches no trial"},
       }) {
    const std::string error = SearchError(Searching("trials = 4\nmethod = \"random\"\n", bad.space));
    EXPECT_THAT(error, HasSubstr(bad.says)) << bad.space;
    EXPECT_THAT(error, HasSubstr("test.toml:1")) << bad.space;
  }
}

TEST(SweepSearch, KeysOfTpeDoNothingForRandomAndItIsSaid) {
  const SweepPlan plan = GoodPlan(Searching("trials = 9\nmethod = \"random\"\nbatch = 3\n"));
  EXPECT_EQ(plan.trials.size(), 9U);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings.front().message, HasSubstr("sweep.search.batch counts with method = \"tpe\" alone"));
}

TEST(SweepSearch, UnknownKeysAndWordsAreRefused) {
  EXPECT_THAT(SearchError(Searching("trials = 4\nmethod = \"bayes\"\n")), HasSubstr("tpe"));
  EXPECT_THAT(SearchError(Searching("trials = 4\ngoal = \"max\"\n")), HasSubstr("maximize"));
  EXPECT_THAT(SearchError(Searching("trials = 0\n")), HasSubstr("out of range"));
  EXPECT_THAT(SearchError(Searching("trials = 4\nbudget = 3\n")), HasSubstr("unknown key \"budget\""));
  EXPECT_THAT(SearchError(Searching("")), HasSubstr("missing sweep.search.trials"));
}

TEST(SweepSearch, SelectionAndAxesOfTheSameKeysAreRefused) {
  const std::string both = Searching("trials = 4\n") + "[sweep.select]\ndistribution = \"poisson\"\nmean = 3\n";
  EXPECT_THAT(SearchError(both), HasSubstr("both choose settings"));
  EXPECT_THAT(SearchError(kHead + kTuned + "grid.lr = [1, 2]\n[sweep.search]\ntrials = 4\n" + kSpace),
              HasSubstr("keep it in one of them"));
  EXPECT_THAT(
      SearchError(kHead + kTuned + "zip.row = [{ steps = 3 }, { steps = 4 }]\n[sweep.search]\ntrials = 4\n" + kSpace),
      HasSubstr("sweep.zip.row"));
}

TEST(SweepSearch, SearchedKeyCannotBeOverridden) {
  PlanOptions options;
  options.overrides = {"trial.lr=2"};
  const PlanOutcome outcome = PlanText(Searching("trials = 4\n"), options);
  ASSERT_FALSE(outcome.errors.empty());
  EXPECT_THAT(Render(outcome.errors.front()), HasSubstr("sweep.search.space.lr"));
}

TEST(SweepSearch, ProfileChangesAPartOfIt) {
  PlanOptions options;
  options.profile = "smoke";
  const std::string text =
      Searching("trials = 20\n") + "[profile.smoke.sweep.search]\ntrials = 3\nspace.steps = { low = 1, high = 3 }\n";
  const SweepPlan plan = GoodPlan(text, options);
  ASSERT_EQ(plan.trials.size(), 3U);
  for (const TrialSpec& trial : plan.trials) EXPECT_LE(trial.steps, 3);
}

}  // namespace
}  // namespace retort
