#include "orchestrator/cli/commands/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CommandLine, PlanTakesSweepAndOverrides) {
  const ParsedCommandLine parsed =
      ParseCommandLine({"plan", "s.toml", "trial.steps=10", "sweep.seeds=[0, 1]", "--diff"});
  ASSERT_TRUE(parsed.command);
  EXPECT_EQ(parsed.command->command, "plan");
  EXPECT_EQ(parsed.command->sweep, "s.toml");
  EXPECT_THAT(parsed.command->overrides, ElementsAre("trial.steps=10", "sweep.seeds=[0, 1]"));
  EXPECT_TRUE(parsed.command->diff);
}

TEST(CommandLine, GlobalFlagsStandBeforeOrAfterTheCommand) {
  for (const auto& words : {std::vector<std::string>{"--results", "out", "--json", "status"},
                            std::vector<std::string>{"status", "--json", "--results=out"}}) {
    const ParsedCommandLine parsed = ParseCommandLine(words);
    ASSERT_TRUE(parsed.command);
    EXPECT_EQ(parsed.command->global.results, "out");
    EXPECT_TRUE(parsed.command->global.json);
  }
}

TEST(CommandLine, UnknownCommandNamesTheNearest) {
  const ParsedCommandLine parsed = ParseCommandLine({"--results", "plan", "tabel", "s.toml"});
  EXPECT_FALSE(parsed.command);
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_THAT(parsed.errors[0].message, HasSubstr("`tabel`"));
  ASSERT_FALSE(parsed.errors[0].choices.empty());
  EXPECT_EQ(parsed.errors[0].choices[0], "table");
}

TEST(CommandLine, LaterCommandsDoNotExistYet) {
  for (const char* later : {"export", "data", "model", "audit", "completion"})
    EXPECT_FALSE(ParseCommandLine({later}).errors.empty()) << later;
}

TEST(CommandLine, ReportTakesAPageAndAResultsFolder) {
  const ParsedCommandLine parsed = ParseCommandLine({"report", "--out", "page.html", "--results", "r"});
  ASSERT_TRUE(parsed.command);
  EXPECT_EQ(parsed.command->command, "report");
  EXPECT_EQ(parsed.command->out, "page.html");
  EXPECT_EQ(parsed.command->global.results, "r");
  EXPECT_FALSE(ParseCommandLine({"report", "sweep.toml"}).errors.empty());
}

TEST(CommandLine, HelpOfACommandHasAnExample) {
  for (const std::string& name : ListCommandNames()) {
    const ParsedCommandLine parsed = ParseCommandLine({name, "--help"});
    EXPECT_TRUE(parsed.errors.empty());
    EXPECT_THAT(parsed.text, HasSubstr("Examples:\n  retort " + name));
    EXPECT_THAT(parsed.text, HasSubstr("Usage: retort " + name));
  }
}

TEST(CommandLine, NoArgumentsPrintHelp) {
  const ParsedCommandLine parsed = ParseCommandLine({});
  EXPECT_THAT(parsed.text, HasSubstr("retort run"));
  EXPECT_TRUE(parsed.errors.empty());
}

TEST(CommandLine, MissingSweepAndUnknownFlagAreErrors) {
  EXPECT_FALSE(ParseCommandLine({"plan"}).errors.empty());
  EXPECT_FALSE(ParseCommandLine({"status", "--wach"}).errors.empty());
  EXPECT_FALSE(ParseCommandLine({"run", "s.toml", "--slots", "0"}).errors.empty());
  EXPECT_FALSE(ParseCommandLine({"run", "s.toml", "--slots", "many"}).errors.empty());
}

TEST(CommandLine, OverrideWithoutEqualsIsAnError) {
  const ParsedCommandLine parsed = ParseCommandLine({"run", "s.toml", "trial.steps"});
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_THAT(parsed.errors[0].message, HasSubstr("KEY=VALUE"));
}

TEST(CommandLine, TableTakesItsNameAndTheOverridesOfTheRun) {
  const ParsedCommandLine parsed = ParseCommandLine({"table", "s.toml", "main", "trial.steps=10", "--format", "csv"});
  ASSERT_TRUE(parsed.command);
  EXPECT_EQ(parsed.command->table.name, "main");
  EXPECT_THAT(parsed.command->overrides, ElementsAre("trial.steps=10"));
  EXPECT_EQ(parsed.command->table.format, "csv");
}

TEST(CommandLine, UnknownFormatNamesTheNearest) {
  const ParsedCommandLine parsed = ParseCommandLine({"table", "s.toml", "--format", "latx"});
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_EQ(parsed.errors[0].choices.at(0), "latex");
}

TEST(CommandLine, WhereMayBeRepeated) {
  const ParsedCommandLine parsed = ParseCommandLine({"list", "--where", "method=dpdfd", "--where", "state=failed"});
  ASSERT_TRUE(parsed.command);
  EXPECT_THAT(parsed.command->list.where, ElementsAre("method=dpdfd", "state=failed"));
}

TEST(CommandLine, RetryAndCancelTakeSeveralTrials) {
  ParsedCommandLine parsed = ParseCommandLine({"retry", "one", "two"});
  ASSERT_TRUE(parsed.command);
  EXPECT_THAT(parsed.command->amend.trials, ElementsAre("one", "two"));
  EXPECT_FALSE(parsed.command->amend.failed);
  EXPECT_TRUE(ParseCommandLine({"retry", "--failed"}).command->amend.failed);
  EXPECT_THAT(ParseCommandLine({"cancel", "one"}).command->amend.trials, ElementsAre("one"));
  EXPECT_FALSE(ParseCommandLine({"cancel"}).errors.empty());
  EXPECT_FALSE(ParseCommandLine({"cancel", "one", "--failed"}).errors.empty());
}

TEST(CommandLine, RunTakesDurationsAboveZero) {
  const ParsedCommandLine parsed = ParseCommandLine({"run", "s.toml", "--time-limit", "1.5h", "--grace", "40s"});
  ASSERT_TRUE(parsed.command);
  EXPECT_EQ(parsed.command->run.time_limit_seconds, 5400);
  EXPECT_EQ(parsed.command->run.grace_seconds, 40);
  for (const char* bad : {"90", "0s", "soon", "-1s"}) {
    const ParsedCommandLine wrong = ParseCommandLine({"run", "s.toml", "--time-limit", bad});
    ASSERT_EQ(wrong.errors.size(), 1U) << bad;
    EXPECT_THAT(wrong.errors[0].message, HasSubstr("--time-limit"));
  }
}

TEST(CommandLine, SeedsAreNotNegative) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"sample", "t", "--count", "5", "--format", "idx", "--out", "o"},
        std::vector<std::string>{"chaos", "s.toml"},
        std::vector<std::string>{"data", "clients", "idx", "d", "--clients", "2", "--out", "o"}}) {
    for (const auto& [seed, taken] : std::map<std::string, bool>{{"7", true}, {"-4", false}, {"1.5", false}}) {
      std::vector<std::string> line = words;
      line.insert(line.end(), {"--seed", seed});
      EXPECT_EQ(ParseCommandLine(line).errors.empty(), taken) << words.front() << " --seed " << seed;
    }
  }
}

TEST(CommandLine, JsonIsKnownEvenWhenTheRestIsWrong) { EXPECT_TRUE(ParseCommandLine({"plam", "--json"}).json); }

TEST(CalculatorLine, MechanismParametersBecomeNumbers) {
  const ParsedCommandLine parsed = ParseCommandLine(
      {"epsilon", "votes", "--noise", "100", "--queries", "5e3", "--delta", "1e-5", "--explain", "--json"});
  ASSERT_TRUE(parsed.command);
  EXPECT_EQ(parsed.command->calculator.question.mechanism, "votes");
  EXPECT_EQ(parsed.command->calculator.question.values,
            (std::map<std::string, double>{{"noise", 100}, {"queries", 5000}, {"delta", 1e-5}}));
  EXPECT_TRUE(parsed.command->calculator.explain);
  EXPECT_TRUE(parsed.command->global.json);
}

TEST(CalculatorLine, CalibrateTakesTheEpsilonToBeMet) {
  const ParsedCommandLine parsed =
      ParseCommandLine({"calibrate", "paper", "--method", "dpdfd", "--epsilon", "1.5", "--delta=1e-5"});
  ASSERT_TRUE(parsed.command);
  EXPECT_EQ(parsed.command->calculator.epsilon, 1.5);
  EXPECT_EQ(parsed.command->calculator.question.method, "dpdfd");
  EXPECT_FALSE(ParseCommandLine({"calibrate", "votes", "--delta", "1e-5"}).errors.empty());
  EXPECT_FALSE(ParseCommandLine({"epsilon", "votes", "--epsilon", "1"}).errors.empty());
}

TEST(CalculatorLine, CandidatesOfASelectionAreNamedNumbers) {
  const std::vector<std::string> words = {"epsilon", "select", "--base", "gaussian", "--distribution", "poisson"};
  const auto parse = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return ParseCommandLine(more);
  };
  const ParsedCommandLine parsed = parse({"--candidate", "noise=30,count=2e2", "--candidate", "noise=50"});
  ASSERT_TRUE(parsed.command);
  const privacy::Question& question = parsed.command->calculator.question;
  EXPECT_EQ(question.method, "gaussian");
  EXPECT_EQ(question.distribution, "poisson");
  ASSERT_EQ(question.candidates.size(), 2U);
  EXPECT_EQ(question.candidates[0].at("count"), 200);
  for (const char* word : {"noise", "noise=x", "noise=1,noise=2", "noise=1,,"}) {
    const ParsedCommandLine wrong = parse({"--candidate", word});
    ASSERT_EQ(wrong.errors.size(), 1U) << word;
    EXPECT_THAT(wrong.errors[0].message, HasSubstr("NAME=NUMBER"));
  }
}

TEST(CalculatorLine, WordsThatAreNoNumbersOrMechanismsAreNamed) {
  for (const char* word : {"x", "1e", "1,5", "5%", "0x10"}) {
    const ParsedCommandLine parsed = ParseCommandLine({"epsilon", "votes", "--noise", word});
    ASSERT_EQ(parsed.errors.size(), 1U) << word;
    EXPECT_THAT(parsed.errors[0].message, HasSubstr("--noise " + std::string(word) + " is no number"));
  }
  const ParsedCommandLine parsed = ParseCommandLine({"epsilon", "vote"});
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_EQ(parsed.errors[0].choices[0], "votes");
  EXPECT_TRUE(ParseCommandLine({"table", "epsilon", "main"}).command);
}

TEST(CalculatorLine, EveryMechanismHasAnExampleThatParses) {
  for (const std::string command : {"epsilon", "calibrate"}) {
    for (const privacy::MechanismRule& rule : privacy::ListMechanismRules()) {
      const std::string help = ParseCommandLine({command, std::string(rule.name), "--help"}).text;
      EXPECT_THAT(help, HasSubstr("Usage: retort " + command + " " + std::string(rule.name)));
      const std::string lead = "  retort " + command + " " + std::string(rule.name) + " --";
      const std::size_t at = help.find(lead);
      ASSERT_NE(at, std::string::npos) << rule.name;
      std::istringstream words(help.substr(at, help.find('\n', at) - at));
      std::string word;
      std::vector<std::string> arguments;
      words >> word;
      while (words >> word) arguments.push_back(word);
      EXPECT_TRUE(ParseCommandLine(arguments).command) << help.substr(at);
    }
  }
}

TEST(CommandLine, VersionIsACommandWithAndWithoutHyphens) {
  const std::vector<std::vector<std::string>> kLines = {
      {"version", "--verbose"}, {"--version", "--verbose"}, {"--no-color", "--version", "--verbose"}};
  for (const std::vector<std::string>& words : kLines) {
    const ParsedCommandLine parsed = ParseCommandLine(words);
    ASSERT_TRUE(parsed.command) << words.front();
    EXPECT_EQ(parsed.command->command, "version");
    EXPECT_TRUE(parsed.command->verbose);
  }
  EXPECT_FALSE(ParseCommandLine({"status", "--version"}).command) << "behind a command it is an option";
  EXPECT_FALSE(ParseCommandLine({"--results", "--version"}).command) << "what follows an option is its value";
}

TEST(CommandLine, WatchingIsNoOneDocument) {
  const ParsedCommandLine parsed = ParseCommandLine({"status", "--watch", "--json"});
  EXPECT_FALSE(parsed.command);
  EXPECT_TRUE(parsed.json);
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_EQ(parsed.errors[0].key, "--watch");
  EXPECT_TRUE(ParseCommandLine({"status", "--watch"}).command);
}

}  // namespace
}  // namespace retort::orchestrator::cli
