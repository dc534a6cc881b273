// The command at a sweep's end: what it gets, how its failure is told, and that each end is told once.
#include "orchestrator/service/end_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

ResultsView MakeEndedView(const std::string& directory) {
  ResultsView view;
  view.directory = directory;
  view.sweep = "naps";
  for (const TrialState state : {TrialState::succeeded, TrialState::succeeded, TrialState::failed,
                                 TrialState::parent_failed, TrialState::cancelled}) {
    TrialView trial;
    trial.spec.id = TrialId(view.trials.size() + 1);
    trial.state = state;
    trial.attempts = 1;
    view.trials.push_back(trial);
  }
  return view;
}

class EndCommandTest : public ::testing::Test {
 protected:
  std::string ReadOut() const {
    std::ifstream file(folder_ / "out");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Status Run(const std::string& command, double seconds = 30) const {
    return RunEndCommand(command, end_, {"PATH=/usr/bin:/bin", "OUT=" + (folder_ / "out"), "RETORT_OUTCOME=old"},
                         seconds);
  }
  retort::testing::TemporaryDirectory folder_;
  SweepEnd end_ = DescribeEnd(MakeEndedView(folder_.path()), 1);
};

TEST_F(EndCommandTest, AnEndCountsHowTrialsEnded) {
  EXPECT_EQ(end_.outcome, "failed");
  EXPECT_EQ(end_.trials, 5);
  EXPECT_EQ(end_.succeeded, 2);
  EXPECT_EQ(end_.failed, 1);
  EXPECT_EQ(end_.not_run, 1);
  EXPECT_EQ(end_.cancelled, 1);
  ResultsView left = MakeEndedView(folder_.path());
  left.trials[0].state = TrialState::queued;
  EXPECT_EQ(DescribeEnd(left, 1).outcome, "quota");
  EXPECT_EQ(DescribeEnd(left, 0).outcome, "succeeded");
}

TEST_F(EndCommandTest, TheCommandIsAShellsAndGetsTheFacts) {
  ASSERT_TRUE(
      Run("echo \"$RETORT_SWEEP|$RETORT_OUTCOME|$RETORT_RESULTS|$RETORT_FAILED of $RETORT_TRIALS\" > \"$OUT\" && "
          "true | cat")
          .ok());
  EXPECT_EQ(ReadOut(), "naps|failed|" + end_.results + "|1 of 5\n");
}

TEST_F(EndCommandTest, NamesOfASweepAreNoCodeOfTheShell) {
  end_.sweep = "$(touch " + (folder_ / "harm") + "); `false`";
  ASSERT_TRUE(Run("printf %s \"$RETORT_SWEEP\" > \"$OUT\"").ok());
  EXPECT_EQ(ReadOut(), end_.sweep);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "harm"));
}

TEST_F(EndCommandTest, ItReadsNothingFromThisTerminal) {
  ASSERT_TRUE(Run("cat > \"$OUT\"").ok());
  EXPECT_EQ(ReadOut(), "");
}

TEST_F(EndCommandTest, AFailureSaysHowItEnded) {
  EXPECT_THAT(Run("exit 7").message(), HasSubstr("exit code 7"));
  EXPECT_THAT(Run("kill -9 $$").message(), HasSubstr("signal 9"));
  EXPECT_THAT(Run("no-such-program").message(), HasSubstr("exit code 127"));
}

TEST_F(EndCommandTest, WhatTakesTooLongIsKilledWithItsChildren) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Run("sleep 60 & sleep 60", 0.2).message(), HasSubstr("killed"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(EndCommandTest, TheSameEndIsToldOnce) {
  storage::Env& env = storage::PosixEnv();
  EXPECT_TRUE(*ClaimEnd(env, end_));
  EXPECT_FALSE(*ClaimEnd(env, end_));
  ResultsView retried = MakeEndedView(folder_.path());
  retried.trials[2].attempts = 2;
  EXPECT_TRUE(*ClaimEnd(env, DescribeEnd(retried, 1)));
  EXPECT_FALSE(*ClaimEnd(env, DescribeEnd(retried, 1)));
}

TEST_F(EndCommandTest, AnErrorIsToldEachTime) {
  end_.digest.clear();
  EXPECT_TRUE(*ClaimEnd(storage::PosixEnv(), end_));
  EXPECT_TRUE(*ClaimEnd(storage::PosixEnv(), end_));
}

TEST_F(EndCommandTest, VariablesThatAreThereAreReplaced) {
  const std::vector<std::string> variables = MakeEndEnvironment(end_, {"RETORT_OUTCOME=old", "A=b"});
  EXPECT_THAT(variables,
              AllOf(Contains("A=b"), Contains("RETORT_OUTCOME=failed"), Not(Contains("RETORT_OUTCOME=old"))));
}

}  // namespace
}  // namespace retort::orchestrator
