#include "orchestrator/cli/shell/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/cli/commands/command_line.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;

TEST(Completion, EveryShellKnowsEveryCommandAndOption) {
  const CommandNode root = MakeProgramTree();
  const std::vector<std::string> scripts = {FormatBashCompletion(root), FormatZshCompletion(root),
                                            FishCompletion(root)};
  for (const CommandNode* command : ListAllCommands(root)) {
    for (const std::string& script : scripts) EXPECT_THAT(script, HasSubstr(command->name));
    for (const Parameter& option : command->parameters) {
      if (option.positional) continue;
      EXPECT_THAT(scripts[0], HasSubstr(option.names.back()));
      EXPECT_THAT(scripts[1], HasSubstr("'" + option.names.back() + ":"));
      EXPECT_THAT(scripts[2], HasSubstr(" -l " + option.names.back().substr(2) + " "));
    }
  }
}

TEST(Completion, ValuesComeFromWhereTheyCanBeLookedUp) {
  const CommandNode root = MakeProgramTree();
  const auto source = [&root](const char* command, const char* name) {
    const CommandNode* node = *command == '\0' ? &root : FindCommand(root, command);
    const Parameter* parameter = FindParameter(*node, name);
    return parameter == nullptr ? std::string("absent") : GetSourceName(FindValueSource(*parameter));
  };
  EXPECT_EQ(source("", "--results"), "results");
  EXPECT_EQ(source("", "--profile"), "profiles");
  EXPECT_EQ(source("run", "SWEEP"), "sweeps");
  EXPECT_EQ(source("show", "TRIAL"), "trials");
  EXPECT_EQ(source("audit", "TRIAL|SWEEP"), "audited");
  EXPECT_EQ(source("table", "TABLE"), "tables");
  EXPECT_EQ(source("plot", "FIGURE"), "figures");
  EXPECT_EQ(source("plot", "--out"), "folders");
  EXPECT_EQ(source("report", "--out"), "files");
  EXPECT_EQ(source("run", "KEY=VALUE"), "text");
  EXPECT_EQ(source("completion", "SHELL"), "words");
}

TEST(Completion, AnOptionOfACommandCountsBeforeTheProgramsOwn) {
  const std::string bash = FormatBashCompletion(MakeProgramTree());
  EXPECT_LT(bash.find("table'|--format'") == std::string::npos ? bash.find("--format") : bash.find("table'|--format'"),
            bash.find("*'|--results'"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
