#include "orchestrator/cli/render/text_table.h"

#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

TEST(TextTable, ColumnsAlignByWhatATerminalShows) {
  TextTable table({"name", "ε"}, {Align::left, Align::right});
  table.Add({"a", "≤ 3.000"});
  table.Add({"long name"});
  EXPECT_EQ(table.Width(), 18U);
  EXPECT_EQ(table.Render(),
            "name             ε\n"
            "──────────────────\n"
            "a          ≤ 3.000\n"
            "long name\n");
}

TEST(TextTable, IndentMovesEveryLine) {
  TextTable table({"k"});
  table.Add({"v"});
  table.AddRule();
  EXPECT_EQ(table.Render(2), "  k\n  ─\n  v\n  ─\n");
}

TEST(Wrap, BreaksAtSpacesAndHangs) {
  EXPECT_EQ(Wrap("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(Wrap("", 9, 2), "");
  EXPECT_EQ(Wrap("unbreakablelongword x", 5, 0), "unbreakablelongword\nx");
  EXPECT_EQ(Wrap("δ δ δ", 3, 0), "δ δ\nδ");
}

TEST(Wrap, CommandsStayOnOneLine) {
  EXPECT_EQ(Wrap("now `a b c`, and `d  e`.", 6, 1), "now\n `a b c`,\n and\n `d  e`.");
  EXPECT_EQ(Wrap("a `b c d", 3, 0), "a\n`b\nc d") << "one that opens nothing";
}

}  // namespace
}  // namespace retort::orchestrator::cli
