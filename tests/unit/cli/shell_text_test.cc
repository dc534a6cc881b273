#include "orchestrator/cli/shell_text.h"

#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

TEST(ShellText, PlainWordsStayAsTheyAre) {
  EXPECT_EQ(ShellText("results/quick-start_1.0"), "results/quick-start_1.0");
}

TEST(ShellText, AllElseIsQuoted) {
  EXPECT_EQ(ShellText("my results"), "'my results'");
  EXPECT_EQ(ShellText("it's; rm -rf $HOME"), "'it'\\''s; rm -rf $HOME'");
  EXPECT_EQ(ShellText(""), "''");
}

}  // namespace
}  // namespace retort::orchestrator::cli
