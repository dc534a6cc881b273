#include "experiments/spec/diagnostic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace retort {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Diagnostic, NearestFindsTyposSwapsAndPrefixes) {
  const std::vector<std::string> keys = {"steps", "sigma", "student_steps", "batch", "norm_bound"};
  EXPECT_THAT(NearestOf("stpes", keys), ElementsAre("steps"));
  EXPECT_THAT(NearestOf("bacth", keys), ElementsAre("batch"));
  EXPECT_THAT(NearestOf("norm-bound", keys), ElementsAre("norm_bound"));
  EXPECT_THAT(NearestOf("Sigma", keys), ElementsAre("sigma"));
  EXPECT_THAT(NearestOf("norm", keys), ElementsAre("norm_bound"));
  EXPECT_THAT(NearestOf("qqqqqq", keys), IsEmpty());
}

TEST(Diagnostic, NearestFirstKeepsEveryChoice) {
  EXPECT_THAT(NearestFirst("soudn", {"paper", "answer", "sound"}), ElementsAre("sound", "paper", "answer"));
}

TEST(Diagnostic, RenderPointsAtTheColumn) {
  const Diagnostic diagnostic{"unknown key", "a.toml", 12, 3, "trial.x", {"steps", "sigma"}, "  x = 1"};
  EXPECT_EQ(Render(diagnostic),
            "a.toml:12:3: unknown key\n"
            "  12 |   x = 1\n"
            "     |   ^\n"
            "  choose: steps, sigma");
}

TEST(Diagnostic, RenderKeepsTabsSoThatTheCaretStandsRight) {
  const Diagnostic diagnostic{"bad", "a.toml", 1, 3, "", {}, "\t\tx = 1"};
  EXPECT_EQ(Render(diagnostic), "a.toml:1:3: bad\n  1 | \t\tx = 1\n    | \t\t^");
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
  const auto json = nlohmann::json::parse(ErrorsToJson({{"m", "f", 1, 2, "k", {"c"}, "line"}}));
  EXPECT_EQ(json, nlohmann::json::parse(R"({"schema_version":1,"errors":[
      {"message":"m","file":"f","line":1,"column":2,"key":"k","choices":["c"]}]})"));
}

}  // namespace
}  // namespace retort
