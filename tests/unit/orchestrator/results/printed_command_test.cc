#include "orchestrator/cli/commands/command_line.h"
#include "orchestrator/results/trial_names.h"

#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

TEST(PrintedCommand, ResultsFolderIsAWordOfItsOwn) {
  EXPECT_EQ(AddResultsOption("retort list", "results/s"), "retort list --results results/s");
  EXPECT_EQ(AddResultsOption("retort list", "it's r 1"), "retort list --results 'it'\\''s r 1'");
}

TEST(PrintedCommand, TrialIsCalledByItsShownName) {
  TrialSpec spec;
  spec.name = "sleep-my data-s1";
  spec.id = TrialId(0x0123456789abcdef);
  EXPECT_EQ(FormatTrialCommand("explain", spec), "retort explain 'sleep-my data-s1-01234567'");
}

TEST(PrintedCommand, ResolvedSweepFileGoesOnInItsFolder) {
  EXPECT_EQ(RunAgainCommand("results/s"), "retort run results/s/sweep.toml --results results/s");
  EXPECT_EQ(RunAgainCommand("r 1"), "retort run 'r 1/sweep.toml' --results 'r 1'");
}

TEST(PrintedCommand, SweepHasWhatStoodOnTheLine) {
  CommandLine line;
  line.sweep = "my naps.toml";
  EXPECT_EQ(FormatSweepCommand("run", line), "retort run 'my naps.toml'");
  line.overrides = {"trial.steps=3", "sweep.seeds=[0, 1]"};
  line.global.profile = "two words";
  line.global.results = "r 1";
  EXPECT_EQ(FormatSweepCommand("table", line),
            "retort table 'my naps.toml' trial.steps=3 'sweep.seeds=[0, 1]' --profile 'two words' --results 'r 1'");
  line.from = "rows.tar";  // the results folder is then one that is gone when the command is pasted
  EXPECT_EQ(FormatSweepCommand("run", line),
            "retort run 'my naps.toml' trial.steps=3 'sweep.seeds=[0, 1]' --profile 'two words'");
}

TEST(QuoteForShell, PlainWordsStayAsTheyAre) {
  EXPECT_EQ(QuoteForShell("results/quick-start_1.0"), "results/quick-start_1.0");
}

TEST(QuoteForShell, AllElseIsQuoted) {
  EXPECT_EQ(QuoteForShell("my results"), "'my results'");
  EXPECT_EQ(QuoteForShell("it's; rm -rf $HOME"), "'it'\\''s; rm -rf $HOME'");
  EXPECT_EQ(QuoteForShell(""), "''");
}

// A word of two lines would be two commands; a terminal would not show what is pasted.
TEST(QuoteForShell, WhatATerminalDoesNotShowIsNamedByItsBytes) {
  EXPECT_EQ(QuoteForShell("a\nb"), "$'a\\x0ab'");
  EXPECT_EQ(QuoteForShell("it's \x1b[2J\\"), "$'it\\'s \\x1b[2J\\\\'");
  EXPECT_EQ(QuoteForShell("\xff"), "$'\\xff'");
  EXPECT_EQ(QuoteForShell("\u202e"), "$'\\xe2\\x80\\xae'");
  EXPECT_EQ(QuoteForShell("ü"), "'ü'");
}

}  // namespace
}  // namespace retort::orchestrator::cli
