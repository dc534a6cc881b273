// Progress on stderr, signals, metrics: what people and machines see of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "experiments/base/number_text.h"
#include "experiments/privacy/relation.h"
#include "orchestrator/process/stop_signals.h"
#include "orchestrator/screen/live_facts.h"
#include "orchestrator/screen/progress_text.h"
#include "orchestrator/screen/progress_view.h"
#include "orchestrator/service/run_metrics.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using testing::FamilyPlan;
using ::testing::HasSubstr;
using ::testing::Not;

class ProgressTest : public OrchestratorTest {
 protected:
  // One teacher running at step 4 of 10, two students waiting.
  void SetUp() override {
    const SweepPlan plan = FamilyPlan(1, 2);
    Open(plan);
    Register(0, 1);
    Tick();
    teacher_ = plan.trials[0].id;
    Say(teacher_, cluster::Progress{4, 10, "train", {}});
  }
  [[nodiscard]] ProgressView View(ProgressOptions options) {
    return {options, [this](std::string_view text) { shown_ += text; }};
  }
  [[nodiscard]] int LinesShown() const { return static_cast<int>(std::count(shown_.begin(), shown_.end(), '\n')); }
  TrialId teacher_;
  std::string shown_;
};

TEST_F(ProgressTest, LineSaysHowManyAndWhatRuns) {
  EXPECT_EQ(FormatProgressLine(core_), "0 of 3 trials done, 1 running, 2 waiting: teacher-t0-s0 train 4/10");
}

TEST_F(ProgressTest, LineSaysHowLongItStillTakesOnceThatIsKnown) {
  EXPECT_FALSE(EstimateRun(core_, now(), 100)) << "nothing is known of students";
  for (const std::size_t index : core_.plan()) {
    const TrialSpec& spec = core_.At(index).spec;
    const Trial* teacher = spec.parent ? core_.Find(*spec.parent) : nullptr;
    CostSample sample;
    sample.trial = "a";
    sample.unit_seconds = 60 / CountWorkUnits(spec);
    core_.costs.Add(ComputeCostShape(spec, teacher == nullptr ? nullptr : &teacher->spec), sample);
  }
  EXPECT_FALSE(EstimateRun(core_, now(), 2)) << "too many to be worth the time";
  const auto left = EstimateRun(core_, now(), 100);
  ASSERT_TRUE(left);
  EXPECT_DOUBLE_EQ(left->seconds.mean, 0.6 * 60 + 60 * 2) << "one device: the rest of the teacher, two students";
  EXPECT_THAT(FormatProgressLine(core_, left), ::testing::HasSubstr("2 waiting, about 2 min 36 s left ("));
  core_.stop = StopRequest{};
  EXPECT_FALSE(EstimateRun(core_, now(), 100)) << "it is ending";
}

TEST_F(ProgressTest, PlainViewPrintsAtMostOneLineAMinute) {
  ProgressView view = View({});
  for (int second = 0; second < 180; ++second) {
    Say(teacher_, cluster::Progress{second, 1000, "train", {}});
    view.Refresh(core_, now());
    time_ += 1;
  }
  EXPECT_EQ(LinesShown(), 3);
}

TEST_F(ProgressTest, PlainViewIsSilentWhenNothingChanged) {
  ProgressView view = View({});
  for (int minute = 0; minute < 10; ++minute) {
    view.Refresh(core_, now());
    time_ += 61;
  }
  EXPECT_EQ(LinesShown(), 1);
}

TEST_F(ProgressTest, LiveViewRedrawsItsBlockAndSaysLinesAboveIt) {
  ProgressView view = View({.live = true});
  view.Refresh(core_, now());
  EXPECT_THAT(shown_, HasSubstr("teacher-t0-s0 train 4/10"));
  const int lines = LinesShown();
  Say(teacher_, cluster::Progress{5, 10, "train", {}});
  time_ += 1;
  shown_.clear();
  view.Refresh(core_, now());
  EXPECT_THAT(shown_, HasSubstr("\r\033[" + std::to_string(lines) + "A")) << "back to where the block began";
  EXPECT_THAT(shown_, HasSubstr("5/10"));
  shown_.clear();
  view.PrintLine("a word", now());
  EXPECT_THAT(shown_, HasSubstr("A\033[J")) << "the block gives way";
  EXPECT_LT(shown_.find("a word"), shown_.find("5/10")) << "and stands below";
  shown_.clear();
  view.Finish();
  EXPECT_THAT(shown_, ::testing::EndsWith("A\033[J"));
  shown_.clear();
  view.Finish();
  EXPECT_EQ(shown_, "");
}

TEST_F(ProgressTest, BlockIsLeftAloneWhereTheScreenIsSomebodyElses) {
  std::optional<Screen> screen = Screen();
  ProgressView view = View({.live = true, .screen = [&screen] { return screen; }});
  view.Refresh(core_, now());
  screen.reset();
  time_ += 1;
  shown_.clear();
  view.Refresh(core_, now());
  EXPECT_THAT(shown_, HasSubstr("0 of 3 trials done")) << "a plain line";
  EXPECT_THAT(shown_, Not(HasSubstr("\033[")));
  screen = Screen();
  time_ += 1;
  shown_.clear();
  view.Refresh(core_, now());
  EXPECT_THAT(shown_, HasSubstr("train 4/10"));
  EXPECT_THAT(shown_, Not(HasSubstr("A"))) << "what was drawn before is not looked for";
}

TEST_F(ProgressTest, ViewThatWasAwayDrawsANewBlock) {
  ProgressView view = View({.live = true});
  view.Refresh(core_, now());
  time_ += kAwaySeconds + 1;
  shown_.clear();
  view.Refresh(core_, now());
  EXPECT_THAT(shown_, HasSubstr("train 4/10"));
  EXPECT_THAT(shown_, Not(HasSubstr("A")));
}

TEST_F(ProgressTest, FailureIsToldAtOnceWithItsCauseAlsoWhenQuiet) {
  outbox_.journal.clear();
  Fail(teacher_, FailureKind::not_finite, "the loss is NaN");
  Tick();
  ProgressView view = View({.quiet = true});
  view.Events(core_, outbox_.journal, now());
  EXPECT_THAT(shown_, HasSubstr("not_finite: the loss is NaN; not tried again"));
  EXPECT_THAT(shown_, HasSubstr("its teacher did not succeed"));
  view.Refresh(core_, now());
  view.PrintLine("just so", now());
  EXPECT_THAT(shown_, Not(HasSubstr("just so")));
  EXPECT_EQ(LinesShown(), 3);
}

TEST_F(ProgressTest, SummaryNamesFailuresAndWhatIsLeft) {
  Fail(teacher_, FailureKind::not_finite, "the loss is NaN");
  Tick();
  std::string text;
  for (const std::string& line : FormatSweepSummary(core_, 75)) text += line + "\n";
  EXPECT_THAT(text,
              HasSubstr("0 of 3 trials succeeded, 1 failed, 2 not run because their teacher failed (1 min 15 s)"));
  EXPECT_THAT(text, HasSubstr("teacher-t0-s0 failed: not_finite: the loss is NaN"));
}

TEST(PaddedDurationText, UsesTheUnitThatFits) {
  EXPECT_EQ(FormatPaddedDuration(12.4), "12 s");
  EXPECT_EQ(FormatPaddedDuration(250), "4 min 10 s");
  EXPECT_EQ(FormatPaddedDuration(3780), "1 h 03 min");
}

privacy::PrivacyEvent OneVote() {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::noisy_votes;
  event.unit = privacy::EventUnit::vote;
  event.sensitivity = 1.5;
  event.noise_std = 40;
  event.noise_coordinates = event.release_coordinates = 10;
  event.source = privacy::NoiseSource::secure_lattice;
  event.facts = privacy::ListNeededFacts(event.kind);
  return event;
}

TEST_F(ProgressTest, MetricsCountTrialsFailuresAndReleases) {
  const privacy::PrivacyEvent event = OneVote();
  Say(teacher_, cluster::Reserve{1, event, 8});
  GrantAll();
  RunMetrics metrics;
  using monitoring::Metric;
  monitoring::MetricValues values =
      metrics.Collect(core_, {.version = "v", .commit = "c", .started = now()}, now(), true);
  EXPECT_EQ(values.Get(Metric::trials, {"running"}), 1);
  EXPECT_EQ(values.Get(Metric::trials, {"waiting"}), 2);
  EXPECT_EQ(values.Get(Metric::releases_total, {"digits"}), 8);
  EXPECT_GT(values.Get(Metric::epsilon_spent, {"digits", "example"}), 0);
  EXPECT_EQ(values.Get(Metric::agents), 1);
  EXPECT_EQ(values.Get(Metric::workers, {"busy"}), 1);
  EXPECT_EQ(values.Get(Metric::gangs), 1);
  EXPECT_EQ(values.Get(Metric::devices, {"busy"}), 1);
  EXPECT_EQ(values.Series(Metric::worker_info).size(), values.Get(Metric::devices, {"idle"}) + 1);
  Fail(teacher_, FailureKind::not_finite);
  Tick();
  values = metrics.Collect(core_, {.version = "v", .commit = "c", .started = now()}, now(), true);
  EXPECT_EQ(values.Get(Metric::failures_total, {"not_finite"}), 1);
  EXPECT_EQ(values.Get(Metric::trials, {"parent-failed"}), 2);
}

// The epsilon that is exported is the one that a budget is held against: with what other sweeps charged, under the
// tightest cap, and at its delta.
TEST_F(ProgressTest, MetricsTellTheEpsilonThatTheBudgetCounts) {
  using monitoring::Metric;
  const auto collect = [this] {
    return RunMetrics().Collect(core_, {.version = "v", .commit = "c", .started = now()}, now(), true);
  };
  monitoring::MetricValues values = collect();
  EXPECT_EQ(values.Get(Metric::releases_total, {"digits"}), 0);
  EXPECT_EQ(values.Series(Metric::releases_total).size(), 1U);
  EXPECT_EQ(values.Get(Metric::epsilon_spent, {"digits", "example"}), 0);
  EXPECT_GT(values.Get(Metric::epsilon_delta, {"digits"}), 0);
  EXPECT_TRUE(values.Series(Metric::epsilon_budget).empty());
  privacy::PrivacyEvent event = OneVote();
  event.count = 8;
  const std::string digest = FindUnpackedDigest(core_.charges.unpacked(), core_.At(0).spec.data->digest);
  core_.other_spending[digest] = {event};
  core_.other_budgets[digest] = {{"one", Budget{.epsilon = 2, .delta = 1e-4}},
                                 {"elsewhere", Budget{.epsilon = 0.5, .delta = 1e-6}},
                                 {"another", Budget{.epsilon = 1, .delta = 1e-4}}};
  values = collect();
  EXPECT_DOUBLE_EQ(values.Get(Metric::epsilon_spent, {"digits", "example"}),
                   privacy::ComputeTotalEpsilon({{event}}, 1e-6));
  EXPECT_EQ(values.Get(Metric::epsilon_budget, {"digits", "example"}), 0.5);
  EXPECT_EQ(values.Get(Metric::epsilon_delta, {"digits"}), 1e-6);
}

TEST_F(ProgressTest, MetricsCountAWorkerForEachSeatOfAGang) {
  using monitoring::Metric;
  const auto collect = [this] {
    return RunMetrics().Collect(core_, {.version = "v", .commit = "c", .started = now()}, now(), true);
  };
  const monitoring::MetricValues values = collect();
  double seats = 0;
  for (const char* state : {"idle", "busy", "drained"}) seats += values.Get(Metric::devices, {state});
  const ActiveAttempt& attempt = *core_.fleet.Find(teacher_);
  const auto gang = static_cast<double>(attempt.seats.size());
  EXPECT_EQ(values.Get(Metric::workers, {"busy"}) + values.Get(Metric::workers, {"starting"}), gang);
  EXPECT_EQ(values.Get(Metric::workers, {"idle"}), seats - gang);
}

TEST_F(ProgressTest, MetricsTellStepsCheckpointsAndHowFarAGangIs) {
  Say(teacher_, cluster::Progress{10, 40, "train", {}});
  const double before = static_cast<double>(core_.counters.steps);
  const double seconds = core_.counters.step_seconds.sum();
  Pass(4);
  Say(teacher_, cluster::Progress{18, 40, "train", {}});
  Say(teacher_, cluster::CheckpointCommitted{18, "digest", 0.3, 4096});
  Pass(2);
  RunMetrics metrics;
  using monitoring::Metric;
  const monitoring::MetricValues values =
      metrics.Collect(core_, {.version = "v", .commit = "c", .started = now()}, now(), true);
  EXPECT_EQ(values.Get(Metric::steps_total) - before, 8);
  EXPECT_DOUBLE_EQ(values.Distribution(Metric::step_duration_seconds).sum() - seconds, 4);
  EXPECT_EQ(values.Get(Metric::checkpoint_bytes_total), 4096);
  EXPECT_DOUBLE_EQ(values.Distribution(Metric::checkpoint_duration_seconds).sum(), 0.3);
  const monitoring::MetricValues::Labels seat = values.Series(Metric::seat_progress_ratio).begin()->first;
  EXPECT_DOUBLE_EQ(values.Get(Metric::seat_progress_ratio, seat), 18.0 / 40);
  EXPECT_DOUBLE_EQ(values.Get(Metric::seat_progress_timestamp_seconds, seat), now().unix_seconds - 2);
  EXPECT_EQ(values.Get(Metric::seat_deadline_seconds, seat), kSilenceFloorSeconds);  // the agent's, which is first
}

TEST_F(ProgressTest, MetricsTellEnergyAndBusyTimeWhereTheyWereMeasured) {
  using monitoring::Metric;
  RunMetrics metrics;
  const auto collect = [&] {
    return metrics.Collect(core_, {.version = "v", .commit = "c", .started = now()}, now(), true);
  };
  EXPECT_TRUE(collect().Series(Metric::energy_joules_total).empty());
  cluster::Ended ended;
  ended.succeeded = true;
  ended.timings = {{"seconds", 4}, {"energy_joules", 100}, {"device_busy", 0.75}};
  Say(teacher_, ended);
  const monitoring::MetricValues values = collect();
  ASSERT_EQ(values.Series(Metric::energy_joules_total).size(), 1U);
  EXPECT_EQ(values.Series(Metric::energy_joules_total).begin()->second, 100);
  EXPECT_EQ(values.Series(Metric::device_busy_ratio).begin()->second, 0.75);
}

TEST_F(ProgressTest, MetricsTellNoEnergyOfCpus) {
  using monitoring::Metric;
  RunMetrics metrics;
  cluster::Ended ended;
  ended.succeeded = true;
  ended.timings = {{"seconds", 4}};
  Say(teacher_, ended);
  const monitoring::MetricValues values =
      metrics.Collect(core_, {.version = "v", .commit = "c", .started = now()}, now(), true);
  EXPECT_TRUE(values.Series(Metric::energy_joules_total).empty());
  EXPECT_TRUE(values.Series(Metric::device_busy_ratio).empty());
}

TEST_F(ProgressTest, MetricsCountRetriesAndForgetAGangThatIsGone) {
  Say(teacher_, cluster::Progress{10, 40, "train", {}});
  Fail(teacher_, FailureKind::worker_killed);
  RunMetrics metrics;
  using monitoring::Metric;
  const monitoring::MetricValues values =
      metrics.Collect(core_, {.version = "v", .commit = "c", .started = now()}, now(), true);
  EXPECT_EQ(values.Get(Metric::retries_total, {"worker_killed"}), 1);
  EXPECT_EQ(values.Get(Metric::retries_total, {"not_finite"}), 0);
  EXPECT_TRUE(values.Series(Metric::seat_progress_ratio).empty());
}

TEST(StopSignals, SecondSignalMeansAtOnceUnlessItIsTheSameOne) {
  Result<StopSignals> signals = StopSignals::Open();
  ASSERT_TRUE(signals.ok());
  signals->Read(10);
  EXPECT_FALSE(signals->stop());
  raise(SIGTERM);
  signals->Read(10);
  EXPECT_TRUE(signals->stop());
  EXPECT_EQ(signals->name(), "SIGTERM");
  raise(SIGINT);
  signals->Read(10 + StopSignals::kSameSignalSeconds / 2);
  EXPECT_FALSE(signals->at_once());
  raise(SIGUSR1);
  signals->Read(10 + StopSignals::kSameSignalSeconds);
  EXPECT_TRUE(signals->at_once());
}

TEST(StopSignals, WhatBatchSystemsAndTerminalsWarnWithIsAStop) {
  for (const int signal : {SIGUSR2, SIGXCPU, SIGHUP}) {
    Result<StopSignals> signals = StopSignals::Open();
    ASSERT_TRUE(signals.ok());
    raise(signal);
    signals->Read(10);
    EXPECT_TRUE(signals->stop()) << signal;
  }
}

TEST(StopSignals, TheWarningThatTheKernelRepeatsEndsNothingAtOnce) {
  Result<StopSignals> signals = StopSignals::Open();
  ASSERT_TRUE(signals.ok());
  for (int second = 10; second < 14; ++second) {
    raise(SIGXCPU);
    signals->Read(second);
    EXPECT_TRUE(signals->stop());
    EXPECT_FALSE(signals->at_once());
  }
  raise(SIGINT);
  signals->Read(15);
  EXPECT_TRUE(signals->at_once());
}

TEST(StopSignals, AHangUpThatWasIgnoredStaysSo) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // as nohup does
  Result<StopSignals> signals = StopSignals::Open();
  ASSERT_TRUE(signals.ok());
  raise(SIGHUP);
  signals->Read(10);
  EXPECT_FALSE(signals->stop());
  std::signal(SIGHUP, before);
}

TEST(StopSignals, GivesTheSignalsBack) {
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  {
    const Result<StopSignals> signals = StopSignals::Open();
    ASSERT_TRUE(signals.ok());
    raise(SIGTERM);  // unread, and yet not deadly
  }
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

}  // namespace
}  // namespace retort::orchestrator
