#include "experiments/base/diagnostic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace retort {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Diagnostic, NearestFindsTyposSwapsAndPrefixes) {
  const std::vector<std::string> keys = {"steps", "sigma", "student_steps", "batch", "norm_bound"};
  EXPECT_THAT(FindNearest("stpes", keys), ElementsAre("steps"));
  EXPECT_THAT(FindNearest("bacth", keys), ElementsAre("batch"));
  EXPECT_THAT(FindNearest("norm-bound", keys), ElementsAre("norm_bound"));
  EXPECT_THAT(FindNearest("Sigma", keys), ElementsAre("sigma"));
  EXPECT_THAT(FindNearest("norm", keys), ElementsAre("norm_bound"));
  EXPECT_THAT(FindNearest("qqqqqq", keys), IsEmpty());
}

TEST(Diagnostic, NearestFirstKeepsEveryChoice) {
  EXPECT_THAT(SortByNearness("soudn", {"paper", "answer", "sound"}), ElementsAre("sound", "paper", "answer"));
}

TEST(Diagnostic, RenderPointsAtTheColumn) {
  const Diagnostic diagnostic{"unknown key", "a.toml", 12, 3, "trial.x", {"steps", "sigma"}, "  x = 1"};
  EXPECT_EQ(Render(diagnostic),
            "a.toml:12:3: unknown key\n"
            "  12 |   x = 1\n"
            "     |   ^\n"
            "  choose: steps, sigma");
}

TEST(Diagnostic, TabsAreOneBlankEachSoThatTheCaretStandsRight) {
  const Diagnostic diagnostic{"bad", "a.toml", 1, 3, "", {}, "\t\tx = 1"};
  EXPECT_EQ(Render(diagnostic), "a.toml:1:3: bad\n  1 |   x = 1\n    |   ^");
}

TEST(Diagnostic, NothingThatIsQuotedReachesATerminalAsControls) {
  const Diagnostic diagnostic{"unknown key \"a\x1b[2Jb\x07\"\nsecond line",
                              "a\x1b]0;t.toml",
                              1,
                              2,
                              "k",
                              {"\u202Ec"},
                              "\x1b[31m\xff = \"\u202E\""};
  EXPECT_EQ(Render(diagnostic),
            "a ]0;t.toml:1:2: unknown key \"ab \"\nsecond line\n"
            "  1 |  [31m? = \" \"\n"
            "    |  ^\n"
            "  choose:  c");
}

// What stands above the caret.
std::string AtCaret(const std::string& text, std::size_t length) {
  const std::size_t caret = text.rfind('\n', text.find('^')), line = text.rfind('\n', caret - 1);
  const auto code_point = [](std::string_view of, std::size_t index) {
    std::size_t at = 0;
    for (; at < of.size(); ++at)
      if ((static_cast<unsigned char>(of[at]) & 0xC0U) != 0x80U && index-- == 0) break;
    return at;
  };
  const std::string shown = text.substr(line + 1, caret - line - 1);
  return shown.substr(code_point(shown, text.find('^') - caret - 1), length);
}

TEST(Diagnostic, ColumnsAreCodePoints) {
  EXPECT_EQ(Render({"bad", "a.toml", 1, 9, "", {}, "\"ε≤ü\" = HERE"}),
            "a.toml:1:9: bad\n  1 | \"ε≤ü\" = HERE\n    |         ^");
  EXPECT_EQ(Render({"bad", "a.toml", 1, 90, "", {}, "ε = 1"}), "a.toml:1:90: bad\n  1 | ε = 1\n    |      ^")
      << "behind its end";
}

TEST(Diagnostic, LongLinesAreCutAroundTheCaret) {
  std::string line;
  for (int i = 0; i < 3000; ++i) line += "ε例";
  for (const std::size_t before : {0U, 10U, 79U, 81U, 3000U, 5999U, 6000U}) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < before; ++i) at += i % 2 == 0 ? 2 : 3;
    const std::string marked = line.substr(0, at) + "HERE" + line.substr(at);
    const std::string text = Render({"bad", "a.toml", 1, static_cast<int>(before) + 1, "", {}, marked});
    EXPECT_LT(text.size(), 1000U) << before;
    EXPECT_EQ(AtCaret(text, 4), "HERE") << before;
    EXPECT_EQ(text.find('?'), std::string::npos) << "cut between code points";
    const auto json = nlohmann::json(text).dump();  // throws where it is no UTF-8
    EXPECT_FALSE(json.empty());
  }
}

TEST(Diagnostic, OfALongLineThePartAroundTheCaretIsShown) {
  const std::string line = std::string(5000, 'a') + "HERE" + std::string(5000, 'b');
  const std::string text = Render({"bad", "a.toml", 1, 5001, "", {}, line});
  EXPECT_LT(text.size(), 600U);
  const std::size_t shown = text.find("HERE"), caret = text.find('^');
  ASSERT_NE(shown, std::string::npos);
  const auto column = [&text](std::size_t at) { return at - text.rfind('\n', at); };
  EXPECT_EQ(column(shown), column(caret));
}

TEST(Diagnostic, RenderWithoutAPlaceIsTheMessage) {
  EXPECT_EQ(Render({"no such file", "a.toml", 0, 0, "", {}, ""}), "a.toml: no such file");
}

TEST(Diagnostic, ErrorsBecomeOneJsonDocument) {
  const auto json = nlohmann::json::parse(FormatErrorsJson({{"m", "f", 1, 2, "k", {"c"}, "line"}}));
  EXPECT_EQ(json, nlohmann::json::parse(R"({"schema_version":1,"errors":[
      {"message":"m","file":"f","line":1,"column":2,"key":"k","choices":["c"]}]})"));
}

}  // namespace
}  // namespace retort
