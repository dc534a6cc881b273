#include "orchestrator/cli/printed_command.h"

#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

TEST(PrintedCommand, ResultsFolderIsAWordOfItsOwn) {
  EXPECT_EQ(AtResults("retort list", "results/s"), "retort list --results results/s");
  EXPECT_EQ(AtResults("retort list", "it's r 1"), "retort list --results 'it'\\''s r 1'");
}

TEST(PrintedCommand, TrialIsCalledByItsShownName) {
  TrialSpec spec;
  spec.name = "sleep-my data-s1";
  spec.id = TrialId(0x0123456789abcdef);
  EXPECT_EQ(TrialCommand("explain", spec), "retort explain 'sleep-my data-s1-01234567'");
}

TEST(PrintedCommand, ResolvedSweepFileGoesOnInItsFolder) {
  EXPECT_EQ(RunAgain("results/s"), "retort run results/s/sweep.toml --results results/s");
  EXPECT_EQ(RunAgain("r 1"), "retort run 'r 1/sweep.toml' --results 'r 1'");
}

TEST(PrintedCommand, SweepHasWhatStoodOnTheLine) {
  CommandLine line;
  line.sweep = "my naps.toml";
  EXPECT_EQ(SweepCommand("run", line), "retort run 'my naps.toml'");
  line.overrides = {"trial.steps=3", "sweep.seeds=[0, 1]"};
  line.global.profile = "two words";
  line.global.results = "r 1";
  EXPECT_EQ(SweepCommand("table", line),
            "retort table 'my naps.toml' trial.steps=3 'sweep.seeds=[0, 1]' --profile 'two words' --results 'r 1'");
}

}  // namespace
}  // namespace retort::orchestrator::cli
