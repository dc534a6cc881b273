#include "orchestrator/cli/render/text_table.h"

#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

TEST(FittedText, WhatFitsStaysAsItIs) {
  const std::string text = "a  b\n\n  c   d\nno end of the line";
  EXPECT_EQ(FitText(text, 30), text);
  EXPECT_EQ(FitText("", 30), "");
  EXPECT_EQ(FitText("\n\n", 30), "\n\n");
}

TEST(FittedText, ProseIsBrokenAndKeepsItsIndent) {
  EXPECT_EQ(FitText("one two three four five six seven eight\n", 30), "one two three four five six\n  seven eight\n");
  EXPECT_EQ(FitText("  one two three four five six seven", 30), "  one two three four five six\n    seven");
  EXPECT_EQ(FitText(std::string(40, 'x') + " y", 30), std::string(40, 'x') + "\n  y") << "a path";
  EXPECT_EQ(FitText("数字 数字 数字 数字 数字 数字 数字", 30), "数字 数字 数字 数字 数字 数字\n  数字")
      << "wide characters";
}

TEST(FittedText, MeaningOfANameGoesOnBelowItself) {
  EXPECT_EQ(FitText("  --slots N   how many workers there are", 30),
            "  --slots N   how many workers\n              there are");
  EXPECT_EQ(FitText("\x1b[32mok\x1b[0m       disk: there is much room", 30),
            "\x1b[32mok\x1b[0m       disk: there is much\n         room");
}

TEST(FittedText, MeaningThatHasNoRoomBesideItsNameHasLinesOfItsOwn) {
  EXPECT_EQ(FitText("  --slots INT in range      how many workers there are\n"
                    "                            at once on this very machine\n",
                    30),
            "  --slots INT in range\n"
            "      how many workers there\n"
            "      are\n"
            "      at once on this very\n"
            "        machine\n");
}

TEST(FittedText, TablesAndCommandsAreLeftAlone) {
  const std::string table =
      "  trial with a long name  how it is doing now\n"
      "  ───────────────────────────────────────────\n"
      "  sleep-s0                succeeded just now\n"
      "  sleep-s1-and-a-name     succeeded long ago\n";
  EXPECT_EQ(
      FitText("What is there, and how it is, in a table\n" + table + "\nand what is below it, which is prose", 30),
      "What is there, and how it is,\n  in a table\n" + table + "\nand what is below it, which is\n  prose");
  const std::string command =
      "  retort list --where state=failed --results r\nNext: retort list --results results/naps\n";
  EXPECT_EQ(FitText(command, 30), command);
}

}  // namespace
}  // namespace retort::orchestrator::cli
