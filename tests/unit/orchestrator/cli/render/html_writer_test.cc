#include "orchestrator/cli/render/html.h"

#include <gtest/gtest.h>

#include "orchestrator/cli/render/table_export.h"

namespace retort::orchestrator::cli {
namespace {

TEST(EscapedHtml, LeavesNoMarkup) {
  EXPECT_EQ(EscapeHtml("<script>alert('x') & \"y\"</script>"),
            "&lt;script&gt;alert(&#39;x&#39;) &amp; &quot;y&quot;&lt;/script&gt;");
}

TEST(EscapedHtml, KeepsTextOfAllLanguages) {
  EXPECT_EQ(EscapeHtml("ε ≤ 3 – 例 🙂\n\t."), "ε ≤ 3 – 例 🙂\n\t.");
}

TEST(EscapedHtml, LeavesOutControlCharacters) {
  EXPECT_EQ(EscapeHtml(std::string("a\0b\x1b[1m\r\x7f", 9)), "ab[1m");
  EXPECT_EQ(EscapeHtml("a\u009bb"), "ab");
}

TEST(EscapedHtml, LeavesOutWhatTurnsTheDirectionOfText) {
  EXPECT_EQ(EscapeHtml("a\u202Eb\u2066c\u200Fd\u2028e"), "abcde");
}

TEST(EscapedHtml, MarksWhatIsNoUtf8) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(EscapeHtml("a\xff"
                       "b"),
            "a" + mark + "b");
  EXPECT_EQ(EscapeHtml("\xc0\xbc"), mark + mark);             // an overlong "<"
  EXPECT_EQ(EscapeHtml("\xe2\x82"), mark + mark);             // cut short
  EXPECT_EQ(EscapeHtml("\xed\xa0\x80"), mark + mark + mark);  // half of a pair
  EXPECT_EQ(EscapeHtml("\xf4\x90\x80\x80"), mark + mark + mark + mark);
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
  EXPECT_EQ(EscapeLatex("a_b & 50 % of $x #1 {y}"), "a\\_b \\& 50 \\% of \\$x \\#1 \\{y\\}");
  EXPECT_EQ(EscapeLatex("\\n~^"), "\\textbackslash{}n\\textasciitilde{}\\textasciicircum{}");
  EXPECT_EQ(EscapeLatex("a < b > c | \"d\" `e`"), "a $<$ b $>$ c $|$ ''d'' 'e'");
  EXPECT_EQ(EscapeLatex("two\nlines"), "two lines");
}

TEST(LatexText, SymbolsOfClaimsAreMathematics) {
  EXPECT_EQ(EscapeLatex("ε ≤ ∞ †"), "$\\varepsilon$ $\\le$ $\\infty$ \\dag{}");
  EXPECT_EQ(EscapeLatex("91.7 ± 0.4 – 95 °"), "91.7 $\\pm$ 0.4 -- 95 $^\\circ$");
}

TEST(LatexText, LettersThatLatexComposesStay) { EXPECT_EQ(EscapeLatex("Rényi, Łódź"), "Rényi, Łódź"); }

TEST(LatexText, OtherCharactersAreNamedByTheirCodePoint) {
  EXPECT_EQ(EscapeLatex("中"), "{[U+4E2D]}");
  EXPECT_EQ(EscapeLatex("😀"), "{[U+1F600]}");
  EXPECT_EQ(EscapeLatex("\xff"), "{[U+00FF]}");
  EXPECT_EQ(EscapeLatex("a\xe4"), "a{[U+00E4]}");
}

}  // namespace
}  // namespace retort::orchestrator::cli
