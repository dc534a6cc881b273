// How a sweep that searches stands: counts, the best by its goal, and what is said of it.
#include "orchestrator/results/search_standing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "orchestrator/results/sweep_status.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string SearchToml(const std::string& goal = "") {
  return "retort = 1\n[sweep]\nname = \"tuned\"\n[sweep.search]\ntrials = 4\n" + goal +
         "space.lr = { low = 0.1, high = 10 }\n";
}

void AddTrial(ResultsView& view, std::size_t suggestion, TrialState state, double score, std::uint64_t seed = 0) {
  TrialView trial;
  trial.spec = cli::testing::SampleBaseline(cli::testing::SampleData());
  trial.spec.id = TrialId(0xdd00000000000000 + 16 * suggestion + seed);
  trial.spec.name = "dpsgd-suggestion" + std::to_string(suggestion) + "-digits-s" + std::to_string(seed);
  trial.spec.seed = seed;
  trial.spec.score = "public.accuracy";
  trial.spec.optimization.lr = 1 + static_cast<double>(suggestion);
  trial.spec.axes = {{"lr", ""}, {"suggestion", std::to_string(suggestion)}};
  trial.state = state;
  if (IsFinal(state)) {
    trial.row.emplace();
    trial.row->trial = trial.spec.id.Hex();
    trial.row->state = GetStateName(state);
    if (state == TrialState::succeeded) trial.row->metrics = {{"public.accuracy", score}};
  }
  view.trials.push_back(std::move(trial));
}

ResultsView SampleSearch() {
  ResultsView view;
  view.sweep = "tuned";
  view.directory = "results/tuned";
  view.resolved_toml = SearchToml();
  AddTrial(view, 0, TrialState::succeeded, 0.7);
  AddTrial(view, 1, TrialState::succeeded, 0.9);
  AddTrial(view, 2, TrialState::failed, 0);
  return view;
}

TEST(SearchStanding, NamesTheBestOfThoseThatHaveEnded) {
  const auto standing = FindStanding(SampleSearch());
  ASSERT_TRUE(standing && standing->best);
  EXPECT_EQ(standing->suggested, 3U);
  EXPECT_EQ(standing->ended, 3U);
  EXPECT_EQ(standing->best->number, 1U);
  EXPECT_THAT(standing->best->values, ElementsAre(Pair("lr", "2")));
  const std::string text = DescribeStanding(*standing);
  EXPECT_THAT(text, HasSubstr("3 of 4 suggestions have ended"));
  EXPECT_THAT(text, HasSubstr("the best so far is suggestion 1, dpsgd-suggestion1-digits-s0"));
  EXPECT_THAT(text, HasSubstr("90.00 %"));
}

TEST(SearchStanding, GoalDecidesWhatIsBest) {
  ResultsView view = SampleSearch();
  view.resolved_toml = SearchToml("goal = \"minimize\"\n");
  EXPECT_EQ(FindStanding(view)->best->number, 0U);
}

TEST(SearchStanding, TheLastRungDecides) {
  ResultsView view = SampleSearch();
  view.resolved_toml = SearchToml("method = \"successive-halving\"\nrungs.steps = [10, 30]\n");
  for (TrialView& trial : view.trials) trial.spec.steps = 10;
  AddTrial(view, 3, TrialState::succeeded, 0.8);
  view.trials.back().spec.steps = 30;
  const auto standing = FindStanding(view);
  EXPECT_EQ(standing->terms.trials, 5);
  EXPECT_EQ(standing->best->number, 3U);  // and not suggestion 1 with 0.9 on the first rung
}

TEST(SearchStanding, RungsThatFailedAreNotWaitedFor) {
  ResultsView view = SampleSearch();
  view.resolved_toml = SearchToml("method = \"successive-halving\"\nrungs.steps = [10, 30]\n");
  for (TrialView& trial : view.trials) trial.spec.steps = 10;
  AddTrial(view, 3, TrialState::failed, 0);
  view.trials.back().spec.steps = 30;
  EXPECT_EQ(FindStanding(view)->total, 4);
  EXPECT_FALSE(FindStanding(view)->IsOpen());
  EXPECT_TRUE(ComputeStatus(view).finished);
}

// Four on the first rung, of which every second one goes on.
ResultsView SampleAsha() {
  ResultsView view = SampleSearch();
  view.resolved_toml = SearchToml("method = \"asha\"\nreduction = 2\nrungs.steps = [10, 30]\n");
  for (TrialView& trial : view.trials) trial.spec.steps = 10;
  return view;
}

TEST(SearchStanding, AshaCountsWhatThereIsAtLeast) {
  ResultsView view = SampleAsha();
  const auto standing = FindStanding(view);
  EXPECT_EQ(standing->suggested, 3U);
  EXPECT_EQ(standing->total, 4);
  EXPECT_TRUE(standing->may_grow);
  EXPECT_THAT(DescribeStanding(*standing), HasSubstr("3 of at least 4 suggestions have ended; the best so far"));
  EXPECT_FALSE(ComputeStatus(view).finished);
}

TEST(SearchStanding, AshaIsFinishedWhenNothingCanGoOn) {
  ResultsView view = SampleAsha();
  AddTrial(view, 3, TrialState::succeeded, 0.2);
  view.trials.back().spec.steps = 10;
  EXPECT_TRUE(FindStanding(view)->IsOpen());  // two of the four go on
  AddTrial(view, 4, TrialState::succeeded, 0.8);
  view.trials.back().spec.steps = 30;
  view.trials.back().spec.optimization.lr = 2;  // of suggestion 1
  EXPECT_TRUE(FindStanding(view)->IsOpen());
  AddTrial(view, 5, TrialState::running, 0);
  view.trials.back().spec.steps = 30;
  view.trials.back().spec.optimization.lr = 1;  // of suggestion 0
  EXPECT_FALSE(FindStanding(view)->IsOpen());
  EXPECT_FALSE(ComputeStatus(view).finished);
  EXPECT_TRUE(FindStanding(view)->MayChange());
  view.trials.pop_back();
  AddTrial(view, 5, TrialState::failed, 0);
  view.trials.back().spec.steps = 30;
  view.trials.back().spec.optimization.lr = 1;
  const auto standing = FindStanding(view);
  EXPECT_TRUE(ComputeStatus(view).finished);
  EXPECT_EQ(standing->best->number, 4U);
  EXPECT_THAT(DescribeStanding(*standing), HasSubstr("6 of 6 suggestions have ended; the best is suggestion 4"));
}

// What is excluded has no number, and only the end of the run tells that there is no more.
TEST(SearchStanding, AshaIsFinishedWhereTheRestIsExcluded) {
  ResultsView view = SampleAsha();  // three of the four on the first rung, of which none went on
  for (const bool over : {false, true}) {
    view.run_over = over;
    EXPECT_EQ(FindStanding(view)->IsOpen(), !over);
    EXPECT_EQ(ComputeStatus(view).finished, over);
  }
  EXPECT_EQ(FindStanding(view)->total, 3);
  EXPECT_THAT(DescribeStanding(*FindStanding(view)), HasSubstr("3 of 3 suggestions have ended; the best is"));
  AddTrial(view, 5, TrialState::succeeded, 0.2);  // number 4 was excluded later
  view.trials.back().spec.steps = 10;
  EXPECT_EQ(FindStanding(view)->suggested, 4U);
  EXPECT_TRUE(ComputeStatus(view).finished);
  view.trials.back().state = TrialState::queued;  // to be tried again
  EXPECT_FALSE(ComputeStatus(view).finished);
}

TEST(SearchStanding, SeedsCountInTheMean) {
  ResultsView view = SampleSearch();
  AddTrial(view, 1, TrialState::succeeded, 0.3, 1);
  const auto standing = FindStanding(view);
  EXPECT_EQ(standing->best->number, 0U);
  AddTrial(view, 0, TrialState::running, 0, 1);  // suggestion 0 has not ended any more
  EXPECT_EQ(FindStanding(view)->best->number, 1U);
  EXPECT_EQ(FindStanding(view)->ended, 2U);
  EXPECT_THAT(DescribeStanding(*FindStanding(view)), HasSubstr("60.00 % in the mean over 2 trials"));
}

TEST(SearchStanding, WithoutSearchThereIsNone) {
  ResultsView view = SampleSearch();
  view.resolved_toml = "retort = 1\n[sweep]\nname = \"tuned\"\n";
  EXPECT_FALSE(FindStanding(view));
}

TEST(SearchStanding, SweepIsNotFinishedWhileMoreIsToBeSuggested) {
  ResultsView view = SampleSearch();
  EXPECT_FALSE(ComputeStatus(view).finished);
  AddTrial(view, 3, TrialState::succeeded, 0.1);
  EXPECT_TRUE(ComputeStatus(view).finished);
}

TEST(SearchStanding, PlanCountsItsOwnTrialsAlone) {
  const ResultsView view = SampleSearch();
  SweepPlan plan;
  plan.search.emplace();
  plan.search->trials = 4;
  plan.trials = {view.trials[0].spec};
  EXPECT_EQ(FindStanding(plan, view).best->number, 0U);
  EXPECT_EQ(FindStanding(plan, view).suggested, 1U);
}

TEST(SearchStanding, HistoryHasScoresOfWhatSucceeded) {
  ResultsView view = SampleSearch();
  AddTrial(view, 3, TrialState::running, 0);
  const Result<SearchHistory> history = CollectHistory(view);
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->planned.size(), 4U);
  EXPECT_EQ(history->outcomes.at(view.trials[1].spec.id).score, 0.9);
  EXPECT_TRUE(history->outcomes.at(view.trials[2].spec.id).ended);
  EXPECT_FALSE(history->outcomes.at(view.trials[2].spec.id).score);
  EXPECT_FALSE(history->outcomes.at(view.trials[3].spec.id).ended);
  EXPECT_THAT(history->identity, Not(HasSubstr("trials")));
}

TEST(SearchStanding, CostOfAPrivateScoreIsNotCounted) {
  EXPECT_THAT(DescribeSearchCost("public.accuracy"), HasSubstr("on public examples, which costs nothing beyond"));
  EXPECT_THAT(DescribeSearchCost("test.accuracy"), HasSubstr("no ε counts the search"));
}

}  // namespace
}  // namespace retort::orchestrator
