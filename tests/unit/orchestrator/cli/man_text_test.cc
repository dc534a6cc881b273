#include "orchestrator/cli/shell/man_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/cli/commands/command_line.h"
#include "orchestrator/cli/shell/help_text.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ManText, APageForTheProgramAndForEachCommand) {
  const CommandNode root = MakeProgramTree();
  const std::vector<ManPage> pages = MakeManPages(root, "1.2");
  ASSERT_EQ(pages.size(), root.commands.size() + 1);
  EXPECT_EQ(pages[0].name, "retort");
  for (const CommandNode& command : root.commands)
    EXPECT_THAT(pages[0].text, HasSubstr(FormatRoffBold("retort-" + command.name) + "(1)"));
}

TEST(ManText, NamesEveryOptionArgumentAndExampleOfItsCommands) {
  const CommandNode root = MakeProgramTree();
  for (const CommandNode& command : root.commands) {
    const std::string text = MakeManPage(root, command, "1.2").text;
    for (const CommandNode* node : ListAllCommands(command)) {
      for (const Parameter& parameter : node->parameters)
        EXPECT_THAT(text, HasSubstr(FormatRoffCode(parameter.names.back()))) << node->path;
      for (const Example& example : FindExamples(node->path))
        EXPECT_THAT(text, HasSubstr(FormatRoffCode(example.line)));
    }
    for (const ExitCodeMeaning& code : ListExitCodes())
      EXPECT_THAT(text, HasSubstr(FormatRoffBold(std::to_string(code.code))));
  }
}

TEST(ManText, TellsOfTheVariablesThatACommandReads) {
  const CommandNode root = MakeProgramTree();
  const auto page = [&root](const char* name) { return MakeManPage(root, *FindCommand(root, name), "1").text; };
  ASSERT_FALSE(FindVariables(GetEnvironmentDocument(), "Running a sweep").empty());
  EXPECT_THAT(page("run"), HasSubstr("RETORT_END_TIME"));
  EXPECT_THAT(page("version"), Not(HasSubstr("RETORT_END_TIME")));
}

TEST(RoffText, NothingIsTakenForARequest) {
  EXPECT_EQ(EscapeRoff(".TH"), "\\&.TH");
  EXPECT_EQ(EscapeRoff("it's `--slots N`, a\\b"), "it\\(aqs \\fB\\-\\-slots N\\fR, a\\eb");
  EXPECT_EQ(EscapeRoff("ε ≤ 3"), "\\[u03B5] \\[u2264] 3");
  EXPECT_EQ(FormatRoffFallbacks("\\[u03B5]"), ".fchar \\[u03B5] epsilon\n");
}

}  // namespace
}  // namespace retort::orchestrator::cli
