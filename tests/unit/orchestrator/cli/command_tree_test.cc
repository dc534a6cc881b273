#include "orchestrator/cli/shell/command_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/cli/commands/command_line.h"
#include "orchestrator/cli/shell/help_text.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The words of a line as a shell would read them, up to a pipe or a redirection.
std::vector<std::string> ShellWords(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char letter : line + " ") {
    if (letter == '\'') {
      quoted = !quoted;
    } else if (letter == ' ' && !quoted) {
      if (word == "|" || word == ">") return words;
      if (!word.empty()) words.push_back(word);
      word.clear();
    } else {
      word += letter;
    }
  }
  return words;
}

TEST(CommandTree, HasEveryCommandInTheOrderOfTheHelp) {
  const CommandNode root = MakeProgramTree();
  for (const std::string& name : ListCommandNames()) EXPECT_NE(FindCommand(root, name), nullptr) << name;
  EXPECT_EQ(root.commands.size(), ListCommandNames().size());
  ASSERT_NE(FindCommand(root, "data"), nullptr);
  const CommandNode* check = FindCommand(*FindCommand(root, "data"), "check");
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->path, "data check");
}

TEST(CommandTree, KnowsChoicesRangesAndWhatRepeats) {
  const CommandNode root = MakeProgramTree();
  EXPECT_THAT(FindParameter(*FindCommand(root, "table"), "--format")->choices,
              ElementsAre("text", "markdown", "csv", "latex", "json"));
  EXPECT_EQ(FindParameter(*FindCommand(root, "run"), "--slots")->range, "[1 - 4096]");
  EXPECT_TRUE(ListPositionals(*FindCommand(root, "retry")).front()->repeats);
  EXPECT_FALSE(ListPositionals(*FindCommand(root, "show")).front()->repeats);
  EXPECT_TRUE(FindParameter(*FindCommand(root, "plan"), "--diff")->value.empty());
}

std::vector<std::string> WordsTo(const CommandNode& command) { return ShellWords(command.path); }

void ExpectEmpty(std::vector<std::string> words, const std::vector<std::string>& more, const std::string& key,
                 const std::string& what) {
  words.insert(words.end(), more.begin(), more.end());
  const ParsedCommandLine parsed = ParseCommandLine(words);
  const std::string line = ::testing::PrintToString(words);
  EXPECT_FALSE(parsed.command) << line;
  ASSERT_EQ(parsed.errors.size(), 1U) << line;
  EXPECT_EQ(parsed.errors.front().key, key) << line;
  EXPECT_THAT(parsed.errors.front().message, HasSubstr(what)) << line;
}

TEST(CommandTree, NoOptionOfAnyCommandTakesAnEmptyValue) {
  const CommandNode root = MakeProgramTree();
  int options = 0;
  for (const CommandNode* command : ListAllCommands(root)) {
    for (const CommandNode* owner : {command, &root}) {
      for (const Parameter& parameter : owner->parameters) {
        if (parameter.positional) continue;
        for (const std::string& name : parameter.names) {
          const bool takes_one = !parameter.value.empty();
          ExpectEmpty(WordsTo(*command), {name + "="}, name, takes_one ? "empty value" : "takes no value");
          ExpectEmpty(WordsTo(*command), {name + "= \t"}, name, takes_one ? "empty value" : "takes no value");
          if (!takes_one) continue;
          ExpectEmpty(WordsTo(*command), {name, ""}, name, "empty value");
          ExpectEmpty(WordsTo(*command), {name, " "}, name, "empty value");
          ExpectEmpty(WordsTo(*command), {name, "\u00a0\u2003"}, name, "empty value");
          ExpectEmpty(WordsTo(*command), {"word", name, "", "--json"}, name, "empty value");
          ++options;
        }
      }
    }
  }
  EXPECT_GT(options, 100) << "of every command its own and those of the program";
}

TEST(CommandTree, NoCommandTakesAnEmptyArgument) {
  const CommandNode root = MakeProgramTree();
  for (const CommandNode* command : ListAllCommands(root)) {
    ExpectEmpty(WordsTo(*command), {""}, "", "an argument is empty");
    std::vector<std::string> before;
    for (const Parameter* argument : ListPositionals(*command)) {
      before.push_back(argument->choices.empty() ? "a=b" : argument->choices.front());
      for (const char* const blank : {"", "  ", "\u00a0", "\u3000 \ufeff"}) {
        std::vector<std::string> more = before;
        more.emplace_back(blank);
        ExpectEmpty(WordsTo(*command), more, "", "an argument is empty");
        more.insert(more.end() - 1, "--");
        ExpectEmpty(WordsTo(*command), more, "", "an argument is empty");
      }
    }
  }
}

TEST(CommandTree, EveryCommandHasExamplesThatTheParserTakes) {
  const CommandNode root = MakeProgramTree();
  for (const CommandNode* command : ListAllCommands(root)) {
    const std::vector<Example> examples = FindExamples(command->path);
    EXPECT_FALSE(examples.empty()) << command->path;
    for (const Example& example : examples) {
      std::vector<std::string> words = ShellWords(example.line);
      ASSERT_EQ(words.at(0), "retort") << example.line;
      words.erase(words.begin());
      const ParsedCommandLine parsed = ParseCommandLine(words);
      ASSERT_TRUE(parsed.command) << example.line << ": " << (parsed.errors.empty() ? "" : parsed.errors[0].message);
      EXPECT_TRUE(parsed.command->command.starts_with(command->path)) << example.line;
      EXPECT_FALSE(example.what.empty());
    }
  }
}

struct Misread {
  std::vector<std::string> words;
  const char* says;
  const char* meant;  // the first choice; empty = none
};
void PrintTo(const Misread& misread, std::ostream* out) { *out << ::testing::PrintToString(misread.words); }

class MisreadTest : public ::testing::TestWithParam<Misread> {};

TEST_P(MisreadTest, SaysWhatWasProbablyMeant) {
  const Misread& misread = GetParam();
  const ParsedCommandLine parsed = ParseCommandLine(misread.words);
  EXPECT_FALSE(parsed.command);
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_THAT(parsed.errors[0].message, HasSubstr(misread.says));
  EXPECT_EQ(parsed.errors[0].choices.empty() ? "" : parsed.errors[0].choices.front(), misread.meant);
}

INSTANTIATE_TEST_SUITE_P(
    MakeProgramTree, MisreadTest,
    ::testing::Values(
        Misread{{"rnu", "s.toml"}, "there is no command `rnu`", "run"},
        Misread{{"--results", "x", "staus"}, "there is no command `staus`", "status"},
        Misread{{"help"}, "there is no command `help`; `retort --help` lists the commands, and `retort man", "man"},
        Misread{{"-V"}, "`retort` has no option -V", "version"},
        Misread{{"data", "chek", "idx", "x"}, "there is no command `data chek`", "check"},
        Misread{{"epsilon", "vots"}, "there is no mechanism `vots`", "votes"},
        Misread{{"data"}, "`retort data` needs a command", "check"},
        Misread{{"run", "s.toml", "--slot", "2"}, "`retort run` has no option --slot", "--slots"},
        Misread{{"plan", "s.toml", "--kills", "3"}, "which belongs to `chaos`", ""},
        Misread{{"table", "s.toml", "--format", "mardown"}, "--format mardown is unknown", "markdown"},
        Misread{{"completion", "zhs"}, "SHELL zhs is unknown", "zsh"}));

TEST(CommandTree, ANegativeNumberIsNoOption) {
  const ParsedCommandLine parsed =
      ParseCommandLine({"epsilon", "votes", "--noise", "-3", "--queries", "5", "--delta", "1e-5"});
  for (const Diagnostic& error : parsed.errors) EXPECT_THAT(error.message, Not(HasSubstr("has no option")));
}

}  // namespace
}  // namespace retort::orchestrator::cli
