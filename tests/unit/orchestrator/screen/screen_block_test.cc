// Lines that are redrawn in place, and what they may hold.
#include "orchestrator/screen/screen_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/base/printable.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ScreenText, CutsToColumnsAndNotToBytes) {
  EXPECT_EQ(CutEnd("εεεε", 4), "εεεε");
  EXPECT_EQ(CutEnd("εεεεε", 4), "εεε…");
  EXPECT_EQ(CutEnd("abc", 0), "");
  EXPECT_EQ(CutMiddle("dpdfd-working-digits-s12", 11), "dpdfd…s-s12");
  EXPECT_EQ(CountColumns(CutMiddle("dpdfd-working-digits-s12", 11)), 11U);
  EXPECT_EQ(CutMiddle("short", 11), "short");
}

TEST(ScreenText, WideCharactersAreTwoColumnsAndMarksNone) {
  EXPECT_EQ(CountColumns("数字データ"), 10U);
  EXPECT_EQ(CountColumns("한글"), 4U);
  EXPECT_EQ(CountColumns("Ｆ！"), 4U) << "full width";
  EXPECT_EQ(CountColumns("\xF0\xA0\x80\x80"), 2U) << "U+20000";
  EXPECT_EQ(CountColumns("🙂"), 2U);
  EXPECT_EQ(CountColumns("e\u0301a\u0308"), 2U) << "letters with an accent of their own";
  EXPECT_EQ(CountColumns("\u1112\u1161\u11AB"), 2U) << "one syllable of three letters";
  EXPECT_EQ(CountColumns("a\u200Bb\uFE0F"), 2U);
  EXPECT_EQ(CountColumns("ε ≤ ∞ … – × † █ ─ é"), 19U) << "what Retort writes itself";
  EXPECT_EQ(CountColumns("a\xFFz"), 3U);
}

TEST(ScreenText, NoCharacterIsCutInTwoAndNoMarkIsLeftAlone) {
  EXPECT_EQ(CutEnd("数字データ", 10), "数字データ");
  EXPECT_EQ(CutEnd("数字データ", 9), "数字デー…");
  EXPECT_EQ(CutEnd("数字データ", 8), "数字デ…") << "a column is left";
  EXPECT_EQ(CutEnd("ae\u0301bcd", 3), "ae\u0301…");
  EXPECT_EQ(CutMiddle("数字データ", 7), "数…タ") << "2 and 1 and 2 columns";
  EXPECT_EQ(CutMiddle("abcde\u0301f", 5), "ab…e\u0301f");
  EXPECT_EQ(CutMiddle("abcde\u0301f", 4), "ab…f") << "without its letter the accent goes too";
  for (std::size_t width = 0; width < 12; ++width) {
    EXPECT_LE(CountColumns(CutEnd("数a字b\u0301データ", width)), width);
    EXPECT_LE(CountColumns(CutMiddle("数a字b\u0301データ", width)), width);
  }
}

TEST(ScreenText, BarIsFullOnlyWhenAllIsDone) {
  EXPECT_EQ(DrawBar(0, 4), "░░░░");
  EXPECT_EQ(DrawBar(0.99, 4), "███░");
  EXPECT_EQ(DrawBar(1, 4), "████");
  EXPECT_EQ(ConvertToAscii(DrawBar(0.5, 4)), "##..");
}

TEST(ScreenText, AsciiHasNoOtherBytes) { EXPECT_EQ(ConvertToAscii("ε ≤ 2 … (δ 1e-5) é"), "eps <= 2 ~ (delta 1e-5) ?"); }

TEST(ScreenBlock, WritesOnlyChangedLines) {
  ScreenBlock block;
  EXPECT_EQ(block.Redraw({{"one"}, {"two"}}, Screen()), "\033[?25l\rone\033[K\ntwo\033[K\n\033[?25h");
  EXPECT_EQ(block.Redraw({{"one"}, {"two"}}, Screen()), "");
  EXPECT_EQ(block.Redraw({{"one"}, {"2"}}, Screen()), "\033[?25l\r\033[2A\n2\033[K\n\033[?25h");
  EXPECT_EQ(block.Redraw({{"one"}}, Screen()), "\033[?25l\r\033[2A\n\033[J\033[?25h");
}

TEST(ScreenBlock, LinesSaidStandAboveTheBlock) {
  ScreenBlock block;
  static_cast<void>(block.Redraw({{"one"}, {"two"}}, Screen()));
  EXPECT_EQ(block.Above("said\n", Screen()), "\r\033[2A\033[Jsaid\none\ntwo\n");
  EXPECT_EQ(block.Erase(Screen()), "\r\033[2A\033[J");
  EXPECT_EQ(block.Erase(Screen()), "");
  EXPECT_EQ(block.Above("said\n", Screen()), "said\n");
}

TEST(ScreenBlock, LinesThatANarrowerScreenBrokeAreTakenAway) {
  ScreenBlock block;
  static_cast<void>(block.Redraw({{std::string(50, 'x')}, {"two"}}, {.width = 80}));
  EXPECT_EQ(block.Redraw({{"x"}, {"two"}}, {.width = 40}), "\033[?25l\r\033[3A\033[Jx\033[K\ntwo\033[K\n\033[?25h");
}

TEST(ScreenBlock, OnlyProblemsAreRedAndOnlyWithColours) {
  const std::vector<BlockLine> lines = {{"bad", true}, {"good"}};
  EXPECT_THAT(ScreenBlock(true).Redraw(lines, Screen()), HasSubstr("\033[31mbad\033[0m\033[K\ngood\033[K"));
  EXPECT_THAT(ScreenBlock(false).Redraw(lines, Screen()), Not(HasSubstr("\033[31m")));
}

TEST(Terminal, LocaleSaysWhetherBarsMayBeDrawn) {
  EXPECT_TRUE(IsUtf8Locale({"LANG=de_DE.UTF-8"}));
  EXPECT_TRUE(IsUtf8Locale({"LANG=C", "LC_CTYPE=C.utf8"}));
  EXPECT_FALSE(IsUtf8Locale({"LANG=de_DE.UTF-8", "LC_ALL=C"}));
  EXPECT_FALSE(IsUtf8Locale({}));
}

TEST(Terminal, WhatIsNoTerminalIsNotRedrawn) { EXPECT_FALSE(CanRedraw({"TERM=xterm"}, -1)); }

}  // namespace
}  // namespace retort::orchestrator
