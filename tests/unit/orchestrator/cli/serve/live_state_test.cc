// What the live page says of a sweep, from a status as a value.
#include "orchestrator/cli/serve/live_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orchestrator/cli/serve/live_page.h"
#include "orchestrator/results/trial_names.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kClockNow = 1'700'000'000;

class LiveStateTest : public ::testing::Test {
 protected:
  LiveStateTest() {
    sample_.view.running = true;
    sample_.view.newest_event = kClockNow;
  }
  TrialView& MakeRunning(std::size_t trial) {
    TrialView& running = sample_.view.trials[trial];
    running.state = TrialState::running;
    running.row.reset();
    running.phase = "distill";
    running.step = 3;
    running.total_steps = 9;
    return running;
  }
  LiveState Make(const LiveLimits& limits = {}) {
    const SweepStatus status = ComputeStatus(sample_.view, {}, kClockNow);
    const auto curves = [this](const TrialView&) { return curves_; };
    return MakeLiveState(status, curves, kClockNow, limits);
  }
  static std::string FindPart(const LiveState& state, const std::string& prefix) {
    for (const LivePart& part : state.parts)
      if (part.key.starts_with(prefix)) return part.html;
    return "no such part";
  }

  testing::Sample sample_ = testing::SampleSweep();
  storage::Curves curves_ = {{"train.loss", {{0, 2.0}, {1, 1.0}}}, {"test.accuracy", {{1, 0.5}}}};
};

TEST_F(LiveStateTest, WhatRunsHasItsStepAndItsCurves) {
  const TrialView& running = MakeRunning(1);
  const LiveState state = Make();
  EXPECT_THAT(FindPart(state, "run-"),
              AllOf(HasSubstr(FormatTrialName(running.spec)), HasSubstr("distill, step 3 of 9"),
                    HasSubstr("<progress max=\"9\" value=\"3\"")));
  const std::string curves = FindPart(state, "curves-");
  EXPECT_THAT(curves, HasSubstr("aria-label=\"train.loss, 2 points from step 0 to 1"));
  EXPECT_LT(curves.find("test.accuracy"), curves.find("train.loss"));
}

TEST_F(LiveStateTest, NoMoreTrialsAreDrawnThanAreAllowed) {
  for (const std::size_t trial : {0U, 1U, 2U}) MakeRunning(trial);
  const LiveState state = Make({.running = 2, .drawn = 1});
  const auto count = [&state](const char* prefix) {
    return std::ranges::count_if(state.parts, [prefix](const LivePart& part) { return part.key.starts_with(prefix); });
  };
  EXPECT_EQ(count("run-"), 2);
  EXPECT_EQ(count("curves-"), 1);
  EXPECT_THAT(FindPart(state, "more-running"), HasSubstr("more run: <code>retort list --where state=running"));
}

TEST_F(LiveStateTest, FailedTrialsComeBeforeTrialsThatStall) {
  TrialView& failed = sample_.view.trials[2];
  failed.state = TrialState::failed;
  failed.failure = FailureKind::worker_crash;
  failed.detail = "segmentation fault";
  TrialView& stalled = MakeRunning(1);
  stalled.pace.Note(2, kClockNow - 702);
  stalled.pace.Note(3, kClockNow - 700);
  const std::string html = FindPart(Make(), "problems");
  const std::size_t first = html.find("segmentation fault"), second = html.find("has made no step for");
  ASSERT_NE(second, std::string::npos) << html;
  EXPECT_LT(first, second);
}

TEST_F(LiveStateTest, ARunThatIsSilentIsAProblem) {
  AttemptLeased leased;
  leased.attempt = {MakeRunning(1).spec.id, 1};
  leased.members = {{0, 0}};
  sample_.view.usage.On({kClockNow, leased});
  const SweepStatus status = ComputeStatus(sample_.view, {}, kClockNow);
  const auto silent = [&](double clock) {
    const std::vector<Problem> problems = ListLiveProblems(status, clock);
    return std::ranges::any_of(problems,
                               [](const Problem& one) { return one.what.starts_with("the run has written nothing"); });
  };
  EXPECT_FALSE(silent(kClockNow + 1));
  EXPECT_TRUE(silent(kClockNow + 4000));
}

TEST_F(LiveStateTest, NamesOfTheSweepAreEscaped) {
  sample_.view.sweep = "<script>";
  TrialView& running = MakeRunning(1);
  running.spec.name = "<img src=x>";
  const std::string page = MakeLivePage(Make(), "", 0);
  EXPECT_THAT(page, Not(HasSubstr("<img src=x>")));
  EXPECT_THAT(page, HasSubstr("&lt;img src=x&gt;"));
  EXPECT_THAT(page, HasSubstr("<h1>Retort sweep &lt;script&gt;</h1>"));
}

TEST_F(LiveStateTest, ThePageFetchesNothingFromElsewhere) {
  const std::string page = MakeLivePage(Make(), "<main>report</main>", 3);
  EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), HasSubstr("<div id=\"report\"><main>report</main></div>"),
                          HasSubstr("data-report=\"3\""), Not(HasSubstr("http")), Not(HasSubstr(" style=\""))));
  EXPECT_THAT(FormatLivePolicy(), AllOf(HasSubstr("default-src 'none'"), HasSubstr("connect-src 'self'"),
                                        Not(HasSubstr("unsafe")), Not(HasSubstr("http"))));
}

TEST_F(LiveStateTest, AFolderThatCannotBeReadSaysWhy) {
  const LiveState state = MakeUnreadableState("results/x", "its disk is gone");
  ASSERT_EQ(state.parts.size(), 1U);
  EXPECT_THAT(state.parts[0].html, HasSubstr("results/x cannot be read: its disk is gone"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
