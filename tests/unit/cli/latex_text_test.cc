#include "orchestrator/cli/latex_text.h"

#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

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
