#include "orchestrator/results/sweep_status.h"
#include "orchestrator/cli/render/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// Of the sample's students, which become such as are taught by votes.
storage::LedgerEntry VoteEntry(ResultsView& view) {
  for (const std::size_t index : {1U, 2U}) {
    view.trials[index].spec.reading = Reading::sound;
    view.trials[index].spec.source = QuerySource::public_split;
    view.trials[index].spec.queries = 300;
  }
  storage::LedgerEntry entry;
  entry.id = 1;
  entry.data_digest = view.trials[0].spec.data->digest;
  entry.attempt = {view.trials[1].spec.id, 1};
  entry.state = storage::LedgerState::reserved;
  entry.event.kind = privacy::MechanismKind::noisy_votes;
  entry.event.unit = privacy::EventUnit::vote;
  entry.event.count = 300;
  entry.event.sensitivity = 1.4142135623730951;
  entry.event.noise_std = 34;
  entry.event.noise_coordinates = 10;
  entry.event.release_coordinates = 10;
  entry.event.source = privacy::NoiseSource::secure_lattice;
  entry.event.facts = privacy::ListNeededFacts(entry.event.kind);
  return entry;
}

TEST(SweepStatus, CountsStatesThatOccur) {
  EXPECT_THAT(CountStates(testing::SampleSweep().view), ElementsAre(Pair("queued", 1), Pair("succeeded", 4)));
}

TEST(SweepStatus, WorstProblemComesFirst) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[3].failure = FailureKind::worker_crash;
  sample.view.trials[3].attempts = 2;
  sample.view.trials[4].state = TrialState::failed;
  sample.view.trials[4].failure = FailureKind::not_finite;
  sample.view.trials[4].detail = "loss is NaN at step 3";
  sample.view.running = true;
  const SweepStatus status = ComputeStatus(sample.view);
  ASSERT_EQ(status.problems.size(), 2U);
  EXPECT_THAT(status.problems[0].what, HasSubstr("not_finite (loss is NaN at step 3)"));
  EXPECT_THAT(status.problems[0].remedy, HasSubstr("retort explain dpsgd-digits-s0"));
  EXPECT_THAT(status.problems[1].what, HasSubstr("was tried 2 times"));
  EXPECT_FALSE(status.finished);
}

TEST(SweepStatus, FailuresThatAreAlikeAreOneProblem) {
  testing::Sample sample = testing::SampleSweep();
  const auto fail = [&](std::size_t index, const std::string& detail) {
    TrialView& trial = sample.view.trials[index];
    trial.state = TrialState::failed;
    trial.failure = FailureKind::worker_crash;
    trial.detail = detail;
  };
  fail(1, "The disk is full.");
  fail(2, "Worker process 17 was killed by SIGSEGV. It said a lot");
  fail(4, "Worker process 923 was killed by SIGSEGV. It said more");
  const SweepStatus status = ComputeStatus(sample.view);
  ASSERT_EQ(status.problems.size(), 2U + 1U);
  EXPECT_EQ(status.problems[0].what,
            "2 trials failed: worker_crash (Worker process 17 was killed by SIGSEGV), first "
            "dpdfd-working-digits-s1-abc00000");
  EXPECT_EQ(status.problems[0].trials, (std::vector{sample.view.trials[2].spec.id, sample.view.trials[4].spec.id}));
  EXPECT_EQ(status.problems[1].what,
            "dpdfd-working-digits-s0-abc00000 failed after 1 attempt: worker_crash (The disk is full.)");
  sample.view.trials[4].failure = FailureKind::worker_hang;
  EXPECT_EQ(ComputeStatus(sample.view).problems.size(), 3U + 1U) << "another kind is another problem";
}

TEST(SweepStatus, RetriesThatAreAlikeAreOneProblem) {
  testing::Sample sample = testing::SampleSweep();
  for (const std::size_t index : {3U, 4U}) {
    sample.view.trials[index].state = TrialState::queued;
    sample.view.trials[index].failure = FailureKind::agent_lost;
  }
  sample.view.running = true;
  const SweepStatus status = ComputeStatus(sample.view);
  ASSERT_EQ(status.problems.size(), 1U);
  EXPECT_EQ(status.problems[0].what,
            "2 trials were tried already, last failure agent_lost, first dpdfd-working-digits-s2-abc00000");
}

TEST(SweepStatus, ManyCausesOfManyWordsFitAScreen) {
  testing::Sample sample = testing::SampleSweep();
  const TrialView failed = [&] {
    TrialView trial = sample.view.trials[3];
    trial.state = TrialState::failed;
    trial.failure = FailureKind::internal;
    trial.attempts = 5;
    return trial;
  }();
  sample.view.trials.assign(100, failed);
  for (std::size_t i = 0; i < sample.view.trials.size(); ++i) {
    sample.view.trials[i].detail = std::string(i + 1, 'a');
    for (int word = 0; word < 300; ++word) sample.view.trials[i].detail += " word";
  }
  const std::string text = FormatStatusText(ComputeStatus(sample.view), 0, 110);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 30) << text;
  EXPECT_THAT(text, HasSubstr("and 93 more (--json lists all)"));
}

TEST(SweepStatus, LostLedgerIsTheWorstProblemAndLeavesNoTotal) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[4].state = TrialState::failed;
  sample.view.ledger_lost = "ledger.log holds 0 of the 3 reservations";
  const SweepStatus status = ComputeStatus(sample.view);
  EXPECT_EQ(status.problems.at(0).what, sample.view.ledger_lost);
  ASSERT_EQ(status.spending.size(), 1U) << "nothing is left of what was charged";
  EXPECT_EQ(status.spending[0].epsilon, std::numeric_limits<double>::infinity());
  EXPECT_EQ(status.spending[0].root_epsilon, std::numeric_limits<double>::infinity());
}

TEST(SweepStatus, BudgetIsThatOfTheExamplesUnderAnyNameOrInAnySweep) {
  testing::Sample sample = testing::SampleSweep();
  auto second = std::make_shared<DataSpec>(*sample.view.trials[1].spec.data);
  second->name = "again";
  second->budget = Budget{2, 1e-5};
  sample.view.trials[1].spec.data = second;
  sample.view.ledger = {VoteEntry(sample.view)};
  DataSpending spent = ComputeStatus(sample.view).spending.at(0);
  EXPECT_THAT(spent.data, HasSubstr("again"));
  EXPECT_THAT(spent.data, HasSubstr(sample.view.trials[0].spec.data->name));
  ASSERT_TRUE(spent.budget);
  EXPECT_EQ(spent.budget->epsilon, 2);
  RootCharges root;
  root.directory = "results";
  root.sweeps.resize(1);
  root.sweeps[0].directory = "results/tight";
  root.sweeps[0].budgets[second->digest] = Budget{1, 1e-5};
  spent = ComputeStatus(sample.view, {}, 0, &root).spending.at(0);
  EXPECT_EQ(spent.budget->epsilon, 1);
  EXPECT_THAT(FormatSpendingLine(spent), HasSubstr("budget 1.000 (of results/tight)"));
}

TEST(SweepStatus, StoppedSweepIsAProblemAndFinishedOneIsNot) {
  testing::Sample sample = testing::SampleSweep();
  EXPECT_THAT(ComputeStatus(sample.view).problems.at(0).what, HasSubstr("nobody is running"));
  sample.view.trials[3] = testing::Finished(sample.plan.trials[3], 0.92, 100, {});
  const SweepStatus status = ComputeStatus(sample.view);
  EXPECT_TRUE(status.finished);
  EXPECT_TRUE(status.problems.empty());
  EXPECT_FALSE(status.remaining);
}

TEST(SweepStatus, TimeLeftComesFromTrialsOfTheSameKind) {
  const testing::Sample sample = testing::SampleSweep();
  EXPECT_FALSE(ComputeStatus(sample.view).remaining) << "nothing is known of this machine";
  const SweepStatus status = ComputeStatus(sample.view, testing::SampleCosts(sample.view));
  ASSERT_TRUE(status.remaining);
  EXPECT_DOUBLE_EQ(status.remaining->seconds.mean, 110);
}

TEST(SweepStatus, TimeLeftCountsStepsThatAreDoneAndSlotsOfTheRun) {
  testing::Sample sample = testing::SampleSweep();
  const CostModel costs = testing::SampleCosts(sample.view);
  for (const std::size_t index : {1U, 2U}) {
    sample.view.trials[index].state = TrialState::running;
    sample.view.trials[index].row.reset();
    sample.view.trials[index].step = 40;
    sample.view.trials[index].total_steps = 160;
  }
  const auto left = [&] { return ComputeStatus(sample.view, costs).remaining->seconds.mean; };
  sample.view.terms.slots = 2;
  EXPECT_DOUBLE_EQ(left(), 0.75 * 110 + 110);
  sample.view.terms.slots = 3;
  EXPECT_DOUBLE_EQ(left(), 110);
  sample.view.terms.slots = 0;
  AttemptLeased leased;
  leased.attempt = {TrialId(1), 1};
  leased.members = {{0, 0}, {0, 1}};
  sample.view.usage.On({10, leased});
  EXPECT_DOUBLE_EQ(left(), 0.75 * 110 + 110) << "two devices were held at once";
  sample.view.trials[2].state = TrialState::queued;
  sample.view.trials[2].step = 0;
  EXPECT_DOUBLE_EQ(left(), 0.75 * 110 + 110);
  sample.view.quota.concurrency = 1;
  EXPECT_DOUBLE_EQ(left(), 0.75 * 110 + 110 + 110);
}

TEST(SweepStatus, SpendingIsTheTotalOverAllTrialsOfADataSet) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.ledger = {VoteEntry(sample.view)};
  const SweepStatus one = ComputeStatus(sample.view);
  ASSERT_EQ(one.spending.size(), 1U);
  EXPECT_EQ(one.spending[0].data, "digits");
  EXPECT_EQ(one.spending[0].trials, 1);
  EXPECT_GT(one.spending[0].epsilon, 0);
  storage::LedgerEntry second = VoteEntry(sample.view);
  second.id = 2;
  second.attempt.trial = sample.view.trials[2].spec.id;
  sample.view.ledger.push_back(second);
  const SweepStatus two = ComputeStatus(sample.view);
  EXPECT_EQ(two.spending[0].trials, 2);
  EXPECT_GT(two.spending[0].epsilon, one.spending[0].epsilon);
}

TEST(SweepStatus, TotalOverTheRootStandsBesideTheSweeps) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.ledger = {VoteEntry(sample.view)};
  RootCharges root;
  root.directory = "results";
  const auto spent = [&] { return ComputeStatus(sample.view, {}, 0, &root).spending.at(0); };
  EXPECT_EQ(spent().root_epsilon, spent().epsilon);
  EXPECT_THAT(FormatSpendingLine(spent()), ::testing::Not(HasSubstr("other sweep")));
  OtherSweep neighbour;
  neighbour.charged[sample.view.ledger[0].data_digest] = {sample.view.ledger[0].event};
  root.sweeps = {neighbour, OtherSweep()};
  EXPECT_GT(spent().root_epsilon, spent().epsilon);
  EXPECT_THAT(FormatSpendingLine(spent()), HasSubstr("; with 1 other sweep in results: ε ≤ "));
  EXPECT_EQ(MakeSpendingJson(spent()).at("root").at("other_sweeps"), 1);
  root.sweeps.clear();
  root.trouble = "what results/a charged cannot be read: damaged";
  EXPECT_EQ(spent().root_epsilon, std::numeric_limits<double>::infinity());
  EXPECT_THAT(FormatSpendingLine(spent()), HasSubstr("over all sweeps in results: unknown, what results/a"));
  EXPECT_EQ(MakeSpendingJson(spent()).at("root").at("epsilon"), "inf");
}

TEST(SweepStatus, RefutedClaimLeavesNoTotal) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.ledger = {VoteEntry(sample.view)};
  sample.view.trials[4].state = TrialState::failed;
  sample.view.trials[1].refuted = {"canary audit of a run: the attack shows epsilon >= 9"};
  const SweepStatus status = ComputeStatus(sample.view);
  ASSERT_EQ(status.problems.size(), 2U + 1U);
  EXPECT_THAT(status.problems[0].what, HasSubstr("a proven claim of dpdfd-working-digits-s0-"));
  EXPECT_THAT(status.problems[0].what, HasSubstr("is refuted by canary audit of a run"));
  EXPECT_THAT(status.problems[0].remedy, HasSubstr("retort show dpdfd-working-digits-s0"));
  EXPECT_EQ(status.spending.at(0).epsilon, std::numeric_limits<double>::infinity());
  EXPECT_EQ(status.spending.at(0).root_epsilon, std::numeric_limits<double>::infinity());
  EXPECT_THAT(FormatStatusText(status, 0, 200), HasSubstr("refuted by canary audit"));
}

TEST(SweepStatus, StudentsOfAPrivateTeacherCostNothingMore) {
  testing::Sample sample = testing::SampleSweep();
  TrialSpec& teacher = sample.view.trials[0].spec;
  teacher.method = "dpsgd";
  storage::LedgerEntry trained = VoteEntry(sample.view);
  trained.attempt.trial = teacher.id;
  trained.event.kind = privacy::MechanismKind::subsampled_gaussian;
  trained.event.unit = privacy::EventUnit::step;
  trained.event.sensitivity = 1;
  trained.event.noise_std = 100;
  trained.event.granularity = 0x1p-29;
  trained.event.facts = {std::string(privacy::kFactPerExampleAugmentation), std::string(privacy::kFactNoBatchNorm)};
  storage::LedgerEntry asked = VoteEntry(sample.view);
  asked.id = 2;
  asked.event.kind = privacy::MechanismKind::none;
  asked.event.source = privacy::NoiseSource::none;
  asked.event.noise_std = 0;
  sample.view.ledger = {trained, asked};
  sample.view.trials[1].spec.queries = 0;
  EXPECT_EQ(ComputeStatus(sample.view).spending.at(0).epsilon, std::numeric_limits<double>::infinity())
      << "a teacher whose row proves nothing";
  sample.view.trials[0].row->claims = {
      testing::ProvenClaim(privacy::Adjacency::example, privacy::Neighbour::add_remove, 3)};
  EXPECT_LT(ComputeStatus(sample.view).spending.at(0).epsilon, 10);
  EXPECT_EQ(ComputeStatus(sample.view).spending.at(0).trials, 1);
}

TEST(SweepStatus, CommandsNameTheFolderAndAreQuotedForTheShell) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.directory = "my results";
  sample.view.trials[4].spec.name = "dpsgd-my digits-s0";
  const auto remedy = [&] { return ComputeStatus(sample.view).problems.at(0).remedy; };
  EXPECT_EQ(remedy(), "retort run 'my results/sweep.toml' --results 'my results'");
  EXPECT_EQ(ComputeStatus(sample.view).next, remedy()) << "of a sweep that stopped";
  sample.view.trials[4].state = TrialState::failed;
  EXPECT_EQ(remedy(), "retort explain 'dpsgd-my digits-s0-dd000000' --results 'my results'");
  sample.view.trials[3].state = TrialState::cancelled;
  EXPECT_EQ(ComputeStatus(sample.view).next, remedy()) << "of a sweep in which all has ended";
  sample.view.trials[4].refuted = {"an audit"};
  EXPECT_EQ(remedy(), "retort show 'dpsgd-my digits-s0-dd000000' --results 'my results'");
  sample.view.ledger_lost = "ledger.log is gone";
  EXPECT_EQ(remedy(), "retort repair --results 'my results'");
}

TEST(SweepStatus, ProblemsOfTrialsHoldWhereverTheFolderIs) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[4].state = TrialState::failed;
  TrialsStatus trials = ComputeTrialsStatus(sample.view);
  sample.view.directory = "elsewhere";
  EXPECT_EQ(MakeSweepStatus(sample.view, std::move(trials)).problems.at(0).remedy,
            "retort explain dpsgd-digits-s0-dd000000 --results elsewhere");
}

TEST(SweepStatus, WhereMoreTrialsRunThanAreShownTheCommandShowsAll) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.directory = "my results";
  const TrialView running = [&] {
    TrialView trial = sample.view.trials[3];
    trial.state = TrialState::running;
    return trial;
  }();
  sample.view.trials.assign(30, running);
  EXPECT_THAT(FormatStatusText(ComputeStatus(sample.view), 0, 110),
              HasSubstr("and 10 more that run (`retort list --results 'my results'` shows all)"));
}

TEST(SweepStatus, TextAndJsonSayTheSame) {
  testing::Sample sample = testing::SampleSweep();
  const auto costs = testing::SampleCosts(sample.view);
  sample.view.ledger = {VoteEntry(sample.view)};
  const SweepStatus status = ComputeStatus(sample.view, costs);
  EXPECT_THAT(FormatStatusText(status, 0, 110), HasSubstr("Time left: about 1 min 50 s on 1 slot ("));
  EXPECT_THAT(FormatStatusText(status, 0, 110), HasSubstr("Trials: 5, 1 queued, 4 succeeded"));
  const auto document = nlohmann::json::parse(FormatStatusJson(status));
  EXPECT_EQ(document.at("schema_version"), 1);
  EXPECT_EQ(document.at("counts").at("succeeded"), 4);
  EXPECT_EQ(document.at("epsilon").at("digits").at("adjacency"), "example");
  EXPECT_DOUBLE_EQ(document.at("eta_seconds").at("mean").get<double>(), 110);
  EXPECT_LT(document.at("eta_seconds").at("low").get<double>(), 110);
  EXPECT_GT(document.at("eta_seconds").at("high").get<double>(), 110);
  EXPECT_DOUBLE_EQ(document.at("device_hours_left").at("mean").get<double>(), 110.0 / 3600);
  EXPECT_EQ(document.at("slots"), 1);
  EXPECT_EQ(document.at("problems").size(), status.problems.size());
}

}  // namespace
}  // namespace retort::orchestrator::cli
