#include "orchestrator/cli/render/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string WrittenTable(const HtmlTable& table) {
  Html html;
  WriteTable(html, table);
  return html.Take();
}

HtmlTable TwoLines() {
  HtmlTable table;
  table.caption = "All <of> them";
  table.columns = {{"name", HtmlSort::text}, {"value", HtmlSort::number, true}, {"rest", HtmlSort::none, false, true}};
  table.groups = {{{{"b"}, MakeNumberCell("2 min", 120), {"–"}}}, {{{"a"}, {"–"}, {"x"}}}};
  return table;
}

TEST(HtmlTable, ColumnsThatSortAreButtonsThatWaitForTheScript) {
  const std::string html = WrittenTable(TwoLines());
  EXPECT_THAT(html, HasSubstr("<caption>All &lt;of&gt; them</caption>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\" aria-sort=\"none\" data-sort=\"text\"><button type=\"button\" "
                              "disabled=\"\">name</button></th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\" class=\"wide\">rest</th>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\" data-value=\"120\">2 min</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\" data-value=\"\">–</td>"));
}

TEST(HtmlTable, ALineAloneIsNotSorted) {
  HtmlTable table = TwoLines();
  table.groups.pop_back();
  EXPECT_THAT(WrittenTable(table), Not(HasSubstr("button")));
}

TEST(HtmlTable, TheBoxThatScrollsIsReachedByKeyboard) {
  EXPECT_THAT(WrittenTable(TwoLines()), HasSubstr("<div class=\"box\" role=\"region\" tabindex=\"0\" "
                                                  "aria-label=\"All &lt;of&gt; them\">"));
}

TEST(HtmlTable, AGroupOfLinesIsABodyWithCellsThatSpanIt) {
  HtmlTable table;
  table.columns = {{"entry", HtmlSort::text}, {"claim"}, {"basis"}};
  HtmlCell entry{"e"};
  entry.header = true;
  entry.lines = 2;
  table.groups = {{{entry, {"1"}, {"x"}}, {{"2"}, {"y"}}}, {{{"f"}, {"3"}, {"z"}}}};
  const std::string html = WrittenTable(table);
  EXPECT_THAT(html, HasSubstr("<tbody><tr><th scope=\"rowgroup\" rowspan=\"2\">e</th><td>1</td><td>x</td></tr>\n"
                              "<tr><td>2</td><td>y</td></tr>\n</tbody><tbody>"));
}

TEST(HtmlTable, MarksLinkToTheirFootnotes) {
  Html html;
  WriteMarks(html, " [3] [12]", "note-1-");
  EXPECT_EQ(html.Take(), " <a href=\"#note-1-3\">[3]</a> <a href=\"#note-1-12\">[12]</a>");
}

TEST(HtmlTable, FacesAndLinesBelowStandInOrder) {
  HtmlTable table;
  table.columns = {{"x"}};
  HtmlCell cell{"95 %"};
  cell.strong = true;
  cell.after = " (94 %)";
  cell.after_em = true;
  cell.below = {"n=2"};
  cell.narrow = "data digits";
  table.groups = {{{cell}}};
  EXPECT_THAT(WrittenTable(table), HasSubstr("<td><strong>95 %</strong><em> (94 %)</em><span class=\"below\">n=2</span>"
                                             "<span class=\"below narrow\">data digits</span></td>"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
