#include "orchestrator/cli/render/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "experiments/base/failure_kind.h"
#include "orchestrator/results/devices.h"
#include "orchestrator/results/trial_names.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Explanation, ParentFailedIsExplainedByTheTeachersFailure) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[0].state = TrialState::failed;
  sample.view.trials[0].failure = FailureKind::data;
  sample.view.trials[0].detail = "labels are truncated";
  sample.view.trials[1].state = TrialState::parent_failed;
  const Explanation explanation = Explain(sample.view, sample.view.trials[1], 0);
  EXPECT_THAT(explanation.sentences.at(1), HasSubstr("labels are truncated"));
  EXPECT_THAT(explanation.next, HasSubstr("retort plan"));
}

TEST(Explanation, OutputsOfALoadedTeacherAreSaid) {
  testing::Sample sample = testing::SampleSweep();
  EXPECT_THAT(Explain(sample.view, sample.view.trials[1], 0).sentences, Not(Contains(HasSubstr("outputs"))));
  sample.view.trials[0].spec.outputs = "0 217 482";
  EXPECT_THAT(Explain(sample.view, sample.view.trials[0], 0).sentences,
              Contains("Its outputs 0 217 482 are the classes of the data set, in order."));
  EXPECT_THAT(Explain(sample.view, sample.view.trials[1], 0).sentences,
              Contains("Its teacher's outputs 0 217 482 are the classes of the data set, in order."));
}

// Of orchestrator/FAULTS.md: the last column of each kind.
std::map<std::string, std::string> RemediesOfThePage() {
  std::map<std::string, std::string> remedies;
  std::ifstream page(std::string(RETORT_SOURCE_DIR) + "/orchestrator/FAULTS.md");
  for (std::string line; std::getline(page, line) && line != "## Faults of a worker";) {
    if (!line.starts_with("| `") || !line.ends_with(" |")) continue;
    const std::size_t last = line.rfind(" | ") + 3;
    remedies[line.substr(3, line.find('`', 3) - 3)] = line.substr(last, line.size() - 2 - last);
  }
  return remedies;
}

TEST(Explanation, RemedyOfEachKindIsThatOfThePageAboutFaults) {
  std::map<std::string, std::string> remedies = RemediesOfThePage();
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[0];
  trial.state = TrialState::failed;
  for (int number = 1; number < 256; ++number) {
    trial.failure = static_cast<FailureKind>(number);
    const std::string name(GetFailureName(trial.failure));
    if (name == "unknown" || trial.failure == FailureKind::stopped) continue;
    ASSERT_FALSE(remedies[name].empty()) << name;
    if (const std::size_t at = remedies[name].find("RESULTS"); at != std::string::npos)
      remedies[name].replace(at, 7, sample.view.directory);
    EXPECT_THAT(Explain(sample.view, trial, 0).next, ::testing::StartsWith(remedies[name] + " Then: "));
  }
  EXPECT_GE(remedies.size(), 17U);
}

TEST(Explanation, CommandsNameTheFolderQuotedForTheShell) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.directory = "my results";
  TrialView& trial = sample.view.trials[3];
  const auto next = [&] { return Explain(sample.view, trial, 0).next; };
  const std::string again = "`retort run 'my results/sweep.toml' --results 'my results'`";
  EXPECT_EQ(next(), again + " goes on.");
  trial.state = TrialState::waiting;
  EXPECT_EQ(next(), "Nobody is running the sweep: " + again + " goes on.");
  trial.state = TrialState::cancelled;
  EXPECT_EQ(next(), "`retort retry " + FormatTrialName(trial.spec) + " --results 'my results'` queues it again.");
  trial.state = TrialState::failed;
  trial.failure = FailureKind::worker_crash;
  EXPECT_EQ(next(),
            "Look at the end of the worker's log, `'my results'/workers/rank<r>-slot<s>.log` of the place where the "
            "attempt ran; a crash that repeats is a bug or a broken library. Then: `retort retry " +
                FormatTrialName(trial.spec) + " --results 'my results'`, and " + again + ".");
  trial.failure = FailureKind::data;
  EXPECT_THAT(next(), HasSubstr("`retort plan 'my results'/sweep.toml` names"));
}

TEST(Explanation, WaitingNamesTheTeacherAndItsState) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.running = true;
  sample.view.trials[0].state = TrialState::running;
  sample.view.trials[0].step = 3;
  sample.view.trials[0].total_steps = 5;
  sample.view.trials[1].state = TrialState::waiting;
  const Explanation explanation = Explain(sample.view, sample.view.trials[1], 0);
  EXPECT_THAT(explanation.sentences.at(0), HasSubstr("teacher-single-digits-s0-11111111, which is running"));
  EXPECT_THAT(explanation.sentences.at(1), HasSubstr("step 3 of 5"));
}

TEST(Explanation, QueuedTellsARetryFromABusyDeviceFromAStoppedSweep) {
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[3];
  EXPECT_THAT(Explain(sample.view, trial, 0).sentences.at(0), HasSubstr("nobody is running"));
  sample.view.running = true;
  EXPECT_THAT(Explain(sample.view, trial, 0).sentences.at(0), HasSubstr("It is queued, "));
  trial.retry_at = 130;
  EXPECT_THAT(Explain(sample.view, trial, 100).sentences.at(0), HasSubstr("tried again in 30 s"));
}

// Two hosts of two GPUs each; the teacher holds one of the first.
testing::Sample SampleOnDevices() {
  testing::Sample sample = testing::SampleSweep();
  sample.view.running = true;
  sample.view.newest_event = 1000;
  for (TrialView& other : sample.view.trials) {
    other.state = TrialState::queued;
    other.row.reset();
  }
  for (int rank = 0; rank < 2; ++rank)
    sample.view.inventory.On(
        {900, AgentNoted{rank, AgentChange::joined, "gpu" + std::to_string(rank), {"cuda:0", "cuda:1"}}});
  return sample;
}

void Hold(testing::Sample& sample, std::size_t index, std::vector<std::pair<int, int>> members) {
  TrialView& trial = sample.view.trials[index];
  trial.state = TrialState::running;
  AttemptLeased leased;
  leased.attempt = {trial.spec.id, 1};
  leased.members = std::move(members);
  sample.view.usage.On({910, leased});
}

std::string All(const Explanation& explanation) {
  std::string text;
  for (const std::string& sentence : explanation.sentences) text += sentence + "\n";
  return text;
}

TEST(Explanation, QueuedNamesTheDevicesItWaitsForAndTheirUsers) {
  testing::Sample sample = SampleOnDevices();
  Hold(sample, 0, {{0, 1}});
  Hold(sample, 1, {{1, 0}});
  Hold(sample, 4, {{0, 0}, {1, 1}});
  TrialView& teacher = sample.view.trials[0];
  teacher.step = 3;
  teacher.total_steps = 5;
  teacher.pace.Note(1, 980);
  teacher.pace.Note(3, 1000);
  const std::string text = All(Explain(sample.view, sample.view.trials[3], 1010));
  EXPECT_THAT(text, HasSubstr("It is queued, 1 before it, and needs a device."));
  EXPECT_THAT(text, HasSubstr("The run has 4 devices on 2 hosts: 4 busy."));
  EXPECT_THAT(text, HasSubstr("It waits for cuda:1 of gpu0 (rank 0 slot 1), which runs "
                              "teacher-single-digits-s0-11111111, step 3 of 5 (10 s ago), about 10 s left; "))
      << text;
  EXPECT_THAT(text, HasSubstr("cuda:0 of gpu1 (rank 1 slot 0), which runs dpdfd-working-digits-s0-abc00000"));
  EXPECT_THAT(text, HasSubstr("cuda:1 of gpu1 (rank 1 slot 1), which runs dpsgd-digits-s0-dd000000"));
  sample.view.trials[4].state = TrialState::queued;
  sample.view.trials[4].spec.execution.priority = 2;
  EXPECT_THAT(All(Explain(sample.view, sample.view.trials[3], 1010)), HasSubstr("queued, 2 before it"));
}

TEST(Explanation, GangWaitsForTheHostThatLacksTheFewest) {
  testing::Sample sample = SampleOnDevices();
  sample.view.trials[2].spec.devices = 2;
  Hold(sample, 0, {{0, 0}, {0, 1}});
  Hold(sample, 1, {{1, 0}});
  const std::string text = All(Explain(sample.view, sample.view.trials[2], 1010));
  EXPECT_THAT(text, HasSubstr("needs 2 devices at once"));
  EXPECT_THAT(text, HasSubstr("It gets those of gpu1"));
  EXPECT_THAT(text, HasSubstr("It waits for cuda:0 of gpu1"));
  EXPECT_THAT(text, Not(HasSubstr("of gpu0 (")));
  EXPECT_THAT(All(Explain(sample.view, sample.view.trials[3], 1010)),
              HasSubstr("1 is free, and may be kept for dpdfd-working-digits-s1-abc00000, a gang of 2"));
}

TEST(Explanation, GangThatTheRunHasTooFewDevicesForIsSaidSo) {
  testing::Sample sample = SampleOnDevices();
  sample.view.trials[2].spec.devices = 4;
  EXPECT_THAT(All(Explain(sample.view, sample.view.trials[2], 1010)), Not(HasSubstr("too few for it")));
  sample.view.inventory.On({970, AgentNoted{1, AgentChange::lost, "", {}}});
  const std::string text = All(Explain(sample.view, sample.view.trials[2], 1010));
  EXPECT_THAT(text, HasSubstr("That is too few for it: if no more come back, the run ends with its state saved 60 s"));
  EXPECT_THAT(text, Not(HasSubstr("takes those of several")));
}

TEST(Explanation, LostAndDrainedDevicesAndASilentRunAreNamed) {
  testing::Sample sample = SampleOnDevices();
  Hold(sample, 0, {{0, 0}});
  sample.view.inventory.On({950, SlotDrained{0, 1, "gpu0", {}}});
  sample.view.inventory.On({970, AgentNoted{1, AgentChange::lost, "", {}}});
  const std::string text = All(Explain(sample.view, sample.view.trials[3], 1090));
  EXPECT_THAT(text, HasSubstr("4 devices on 2 hosts: 1 busy, 1 drained, 2 lost"));
  EXPECT_THAT(text, HasSubstr("cuda:0 of gpu1 (rank 1 slot 0) has been lost for 2 min 0 s"));
  EXPECT_THAT(text, HasSubstr("cuda:1 of gpu0 (rank 0 slot 1) is drained"));
  EXPECT_THAT(text, HasSubstr("written nothing for 1 min 30 s"));
  sample.view.running = false;
  EXPECT_TRUE(ListDevices(sample.view).empty()) << "what an earlier run had says nothing";
}

TEST(Explanation, QuotaThatKeepsATrialBackIsNamed) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.quota.wall_seconds = 60;
  sample.view.usage.On({0, SweepOpened{}});
  AttemptLeased leased;
  leased.attempt = {TrialId(1), 1};
  sample.view.usage.On({70, leased});
  const Explanation explanation = Explain(sample.view, sample.view.trials[3], 100);
  EXPECT_THAT(explanation.sentences.at(0), HasSubstr("quota of 60 s wall clock"));
  EXPECT_THAT(explanation.next, HasSubstr("Raise [sweep] quota"));
}

TEST(Explanation, BudgetOfTheDataSetIsNamed) {
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[3];
  auto data = std::make_shared<DataSpec>(*trial.spec.data);
  data->budget = Budget{3, 1e-5};
  trial.spec.data = data;
  const Explanation explanation = Explain(sample.view, trial, 0);
  EXPECT_THAT(explanation.sentences.back(), HasSubstr("The budget of data set digits is ε ≤ 3.000"));
}

TEST(Explanation, TimeThatIsTooShortIsNamedWithBothTimes) {
  testing::Sample sample = testing::SampleSweep();
  const CostModel costs = testing::SampleCosts(sample.view);
  sample.view.running = true;
  sample.view.terms.work_ends = 1005;
  TrialView& trial = sample.view.trials[3];
  trial.spec.execution.checkpoint_seconds = 60;
  const Explanation explanation = Explain(sample.view, trial, 1000, costs);
  EXPECT_THAT(explanation.sentences.at(0), HasSubstr("not started any more in this run"));
  EXPECT_THAT(explanation.sentences.at(0), HasSubstr("the run stops in 5 s"));
  EXPECT_THAT(explanation.next, HasSubstr("more time"));
  EXPECT_THAT(Explain(sample.view, trial, 900, costs).sentences.at(0), HasSubstr("It is queued, "));
  EXPECT_THAT(Explain(sample.view, trial, 1000).sentences.at(0), HasSubstr("It is queued, "))
      << "of unknown cost it would start";
}

TEST(Explanation, RetryNamesTheRule) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.running = true;
  TrialView& trial = sample.view.trials[3];
  trial.attempts = 1;
  trial.failure = FailureKind::worker_crash;
  trial.retry_at = 130;
  EXPECT_THAT(Explain(sample.view, trial, 100).sentences.at(1), HasSubstr("after worker_crash, at most"));
}

TEST(Explanation, FailureSaysWhetherItIsRetriedAndWhatHelps) {
  testing::Sample sample = testing::SampleSweep();
  TrialView& trial = sample.view.trials[1];
  trial.state = TrialState::failed;
  trial.failure = FailureKind::not_finite;
  const Explanation explanation = Explain(sample.view, trial, 0);
  EXPECT_THAT(explanation.sentences.at(1), HasSubstr("not retried"));
  EXPECT_THAT(explanation.next, HasSubstr("lr"));
}

TEST(Explanation, EveryStateHasASentence) {
  testing::Sample sample = testing::SampleSweep();
  for (int state = 1; state <= 8; ++state) {
    sample.view.trials[1].state = static_cast<TrialState>(state);
    EXPECT_FALSE(Explain(sample.view, sample.view.trials[1], 0).sentences.empty()) << state;
  }
}

}  // namespace
}  // namespace retort::orchestrator::cli
