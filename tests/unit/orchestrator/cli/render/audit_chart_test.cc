// Curves of attacks as a chart, and what shadows take as a sentence.
#include "orchestrator/cli/render/audit_chart.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "orchestrator/cli/render/audit_text.h"

namespace retort::orchestrator::cli {
namespace {

privacy::AuditFinding Attack(const std::string& subject) {
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::membership;
  finding.subject = subject;
  finding.curve = privacy::AuditCurve{100, 100, {{0, 3}, {1, 10}, {10, 40}, {100, 100}}};
  return finding;
}

TEST(AuditPicture, DrawsEachAttackBesideGuessing) {
  const privacy::AuditFinding bare;
  const auto chart =
      MakeAuditChart("dense-digits-s0", {"", "", {bare, Attack("loss threshold, 100 private"), Attack("RMIA with 8")}});
  ASSERT_TRUE(chart.has_value());
  ASSERT_EQ(chart->panels.size(), 1U);
  const std::vector<plot::Line>& lines = chart->panels[0].lines;
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].label, "loss threshold");
  EXPECT_EQ(lines[2].label, "guessing");
  ASSERT_EQ(lines[1].points.size(), 3U);  // where nothing passes there is no logarithm
  EXPECT_DOUBLE_EQ(lines[1].points[0].x, 0.01);
  EXPECT_DOUBLE_EQ(lines[1].points[0].y, 0.1);
  EXPECT_NEAR(lines[1].points[0].interval->low, 0.0490, 5e-5);  // Clopper and Pearson 1934
  EXPECT_NEAR(lines[1].points[0].interval->high, 0.1762, 5e-5);
  EXPECT_TRUE(chart->x.logarithmic);
  EXPECT_FALSE(MakeAuditChart("x", {"", "", {bare}}).has_value());
}

TEST(AuditCostText, SaysWhatIsKnownAndWhatIsNot) {
  EXPECT_EQ(AuditCostText({8, 1, 0, 600}), "8 shadows, about 10 min one after the other");
  EXPECT_NE(AuditCostText({8, 3, 3, 0}).find("8 shadows of each of 3 trials; how long 3"), std::string::npos);
  EXPECT_TRUE(AuditCostJson({8, 3, 3, 0}).at("seconds").is_null());
  EXPECT_EQ(AuditCostJson({8, 3, 1, 60}).at("seconds"), 60);
}

}  // namespace
}  // namespace retort::orchestrator::cli
