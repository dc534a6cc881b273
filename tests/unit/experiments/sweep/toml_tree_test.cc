#include "experiments/sweep/toml_tree.h"
#include "experiments/base/number_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace retort {
namespace {

TomlNode Parse(const std::string& text) {
  SourceTexts sources;
  const int source = sources.Add("t.toml", text);
  TomlNode tree;
  Diagnostic error;
  EXPECT_TRUE(ParseToml(text, source, sources, tree, error)) << Render(error);
  return tree;
}

TEST(TomlTree, TablesKeepTheOrderOfTheFile) {
  const TomlNode tree = Parse("z = 1\na = 2\n[m]\nd.y = 1\nd.b = 2\n");
  ASSERT_EQ(tree.entries.size(), 3U);
  EXPECT_EQ(tree.entries[0].key, "z");
  EXPECT_EQ(tree.entries[1].key, "a");
  const TomlNode& d = tree.entries[2].value.entries.at(0).value;
  EXPECT_EQ(d.entries[0].key, "y");
  EXPECT_EQ(d.entries[1].key, "b");
}

TEST(TomlTree, KeysAndValuesKnowWhereTheyStand) {
  const TomlNode tree = Parse("[m]\n  key = { inner = 3 }\n");
  const TomlEntry& key = tree.entries[0].value.entries.at(0);
  EXPECT_EQ(key.where, (Position{0, 2, 3}));
  const TomlEntry& inner = key.value.entries.at(0);
  EXPECT_EQ(inner.where, (Position{0, 2, 11}));
  EXPECT_EQ(inner.value.where, (Position{0, 2, 19}));
}

TEST(TomlTree, SyntaxErrorsAreLocated) {
  SourceTexts sources;
  const int source = sources.Add("t.toml", "a = 1\nb = = 2\n");
  TomlNode tree;
  Diagnostic error;
  EXPECT_FALSE(ParseToml("a = 1\nb = = 2\n", source, sources, tree, error));
  EXPECT_EQ(error.file, "t.toml");
  EXPECT_EQ(error.line, 2);
  EXPECT_EQ(error.source_line, "b = = 2");
  EXPECT_GT(error.column, 1);
}

TEST(TomlTree, KeysOfAbsurdDepthAreRefusedWhereTheyGrowTooDeep) {
  for (const int parts : {17, 100'000}) {
    std::string deep = "a";
    for (int i = 1; i < parts; ++i) deep += ".a";
    for (const std::string& text : {deep + " = 1", "[" + deep + "]", "x = { y = 1, " + deep + " = 1 }"}) {
      SourceTexts sources;
      const std::string whole = "ok = 1\n" + text + "\n";
      const int source = sources.Add("t.toml", whole);
      TomlNode tree;
      Diagnostic error;
      EXPECT_FALSE(ParseToml(whole, source, sources, tree, error));
      EXPECT_EQ(error.line, 2);
      EXPECT_NE(error.message.find("16 parts"), std::string::npos);
    }
  }
}

TEST(TomlTree, DotsInStringsAndCommentsAreNoKeys) {
  const std::string dots(40, '.');
  const std::string numbers =
      "c = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2]\n";
  const TomlNode tree = Parse("# " + dots + "\na = \"" + dots + "\\\"" + dots + "\"\nb = \'\'\'\n" + dots +
                              "\'\'\'\n\"" + dots + "\" = 1.5\n" + numbers);
  EXPECT_EQ(tree.entries.size(), 4U);
}

TEST(TomlTree, OverlayMergesTablesAndReplacesTheRest) {
  TomlNode under = Parse("a = 1\n[t]\nx = 1\ny = [1, 2]\n");
  Overlay(under, Parse("[t]\ny = [3]\nz = 4\n"));
  EXPECT_EQ(FormatToml(under), "a = 1\n\n[t]\nx = 1\ny = [3]\nz = 4\n");
}

TEST(TomlTree, FormattedTextParsesToTheSameTree) {
  const std::string text =
      "a = 1\nb = 1e-5\nc = 100.0\nd = true\n\"odd key\" = \"quote \\\" tab \\t back \\\\\"\n"
      "[t]\ninner.deep = { x = [1, 2], y = [] }\nrows = [{ m = \"a\" }, { m = \"b\", n = {} }]\n";
  const std::string once = FormatToml(Parse(text));
  EXPECT_EQ(FormatToml(Parse(once)), once);
  const TomlNode tree = Parse(once);
  EXPECT_EQ(tree.Find("b")->value.real, 1e-5);
  EXPECT_EQ(tree.Find("c")->value.kind, TomlKind::real);
  EXPECT_EQ(tree.Find("odd key")->value.text, "quote \" tab \t back \\");
  EXPECT_EQ(tree.Find("t")->value.Find("inner")->value.Find("deep")->value.Find("x")->value.items.size(), 2U);
}

TEST(TomlTree, RealsAreShortestAndExact) {
  EXPECT_EQ(FormatReal(0.1), "0.1");
  EXPECT_EQ(FormatReal(4), "4.0");
  EXPECT_EQ(FormatReal(1e-5), "1e-5");
  EXPECT_EQ(FormatReal(1e9), "1e9");
  EXPECT_EQ(FormatReal(1e20), "1e20");
  EXPECT_EQ(FormatReal(1e-100), "1e-100");
  const double awkward = std::nextafter(0.1, 1);
  EXPECT_EQ(std::stod(FormatReal(awkward)), awkward);
}

}  // namespace
}  // namespace retort
