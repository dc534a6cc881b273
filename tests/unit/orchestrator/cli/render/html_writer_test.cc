#include "orchestrator/cli/render/html.h"

#include <gtest/gtest.h>

#include "orchestrator/cli/render/table_export.h"

namespace retort::orchestrator::cli {
namespace {

TEST(EscapedHtml, LeavesNoMarkup) {
  EXPECT_EQ(EscapedHtml("<script>alert('x') & \"y\"</script>"),
            "&lt;script&gt;alert(&#39;x&#39;) &amp; &quot;y&quot;&lt;/script&gt;");
}

TEST(EscapedHtml, KeepsTextOfAllLanguages) {
  EXPECT_EQ(EscapedHtml("ε ≤ 3 – 例 🙂\n\t."), "ε ≤ 3 – 例 🙂\n\t.");
}

TEST(EscapedHtml, LeavesOutControlCharacters) {
  EXPECT_EQ(EscapedHtml(std::string("a\0b\x1b[1m\r\x7f", 9)), "ab[1m");
  EXPECT_EQ(EscapedHtml("a\u009bb"), "ab");
}

TEST(EscapedHtml, LeavesOutWhatTurnsTheDirectionOfText) {
  EXPECT_EQ(EscapedHtml("a\u202Eb\u2066c\u200Fd\u2028e"), "abcde");
}

TEST(EscapedHtml, MarksWhatIsNoUtf8) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(EscapedHtml("a\xff"
                        "b"),
            "a" + mark + "b");
  EXPECT_EQ(EscapedHtml("\xc0\xbc"), mark + mark);             // an overlong "<"
  EXPECT_EQ(EscapedHtml("\xe2\x82"), mark + mark);             // cut short
  EXPECT_EQ(EscapedHtml("\xed\xa0\x80"), mark + mark + mark);  // half of a pair
  EXPECT_EQ(EscapedHtml("\xf4\x90\x80\x80"), mark + mark + mark + mark);
}

// The vectors of RFC 4648, section 10.
TEST(Html, EscapesTextAndAttributes) {
  Html html;
  html.Element("p", "a < b", {{"title", "\"><script>"}});
  EXPECT_EQ(html.Take(), "<p title=\"&quot;&gt;&lt;script&gt;\">a &lt; b</p>");
}

TEST(Html, WhatStandsBetweenBackticksIsCode) {
  Html html;
  html.Paragraph("see `retort show <x>` and `more");
  EXPECT_EQ(html.Take(), "<p>see <code>retort show &lt;x&gt;</code> and `more</p>");
}

TEST(Html, NoIdStandsTwice) {
  Html html;
  EXPECT_EQ(html.Id("a b"), "a-b");
  EXPECT_EQ(html.Id("a.b"), "a-b-2");
  EXPECT_EQ(html.Id("7"), "x7");
  EXPECT_EQ(html.Id("<>"), "x");
}

TEST(HtmlDeathTest, AnElementLeftOpenIsABrokenInvariant) {
  Html html;
  html.Open("p");
  EXPECT_DEATH(static_cast<void>(html.Take()), "");
}

TEST(LatexText, SpecialCharactersAreEscaped) {
  EXPECT_EQ(LatexText("a_b & 50 % of $x #1 {y}"), "a\\_b \\& 50 \\% of \\$x \\#1 \\{y\\}");
  EXPECT_EQ(LatexText("\\n~^"), "\\textbackslash{}n\\textasciitilde{}\\textasciicircum{}");
  EXPECT_EQ(LatexText("a < b > c | \"d\" `e`"), "a $<$ b $>$ c $|$ ''d'' 'e'");
  EXPECT_EQ(LatexText("two\nlines"), "two lines");
}

TEST(LatexText, SymbolsOfClaimsAreMathematics) {
  EXPECT_EQ(LatexText("ε ≤ ∞ †"), "$\\varepsilon$ $\\le$ $\\infty$ \\dag{}");
  EXPECT_EQ(LatexText("91.7 ± 0.4 – 95 °"), "91.7 $\\pm$ 0.4 -- 95 $^\\circ$");
}

TEST(LatexText, LettersThatLatexComposesStay) { EXPECT_EQ(LatexText("Rényi, Łódź"), "Rényi, Łódź"); }

TEST(LatexText, OtherCharactersAreNamedByTheirCodePoint) {
  EXPECT_EQ(LatexText("中"), "{[U+4E2D]}");
  EXPECT_EQ(LatexText("😀"), "{[U+1F600]}");
  EXPECT_EQ(LatexText("\xff"), "{[U+00FF]}");
  EXPECT_EQ(LatexText("a\xe4"), "a{[U+00E4]}");
}

}  // namespace
}  // namespace retort::orchestrator::cli
