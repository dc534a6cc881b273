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

// A word of two lines would be two commands; a terminal would not show what is pasted.
TEST(ShellText, WhatATerminalDoesNotShowIsNamedByItsBytes) {
  EXPECT_EQ(ShellText("a\nb"), "$'a\\x0ab'");
  EXPECT_EQ(ShellText("it's \x1b[2J\\"), "$'it\\'s \\x1b[2J\\\\'");
  EXPECT_EQ(ShellText("\xff"), "$'\\xff'");
  EXPECT_EQ(ShellText("\u202e"), "$'\\xe2\\x80\\xae'");
  EXPECT_EQ(ShellText("ü"), "'ü'");
}

}  // namespace
}  // namespace retort::orchestrator::cli
