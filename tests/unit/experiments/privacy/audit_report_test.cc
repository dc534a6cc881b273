// Findings of audits as they are stored, and when they contradict a proof.
#include "experiments/privacy/audit_report.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace retort::privacy {
namespace {

AuditFinding Finding() {
  AuditFinding finding;
  finding.kind = AuditKind::canary;
  finding.subject = "\"one\" run";
  finding.claim.emplace();
  finding.claim->status = ClaimStatus::audited;
  finding.claim->lower = 0.25;
  finding.confidence = 0.9;
  finding.alarm_lower = 0.125;
  finding.proven = std::numeric_limits<double>::infinity();
  finding.detectable = 1.0 / 3;
  finding.figures = {{"auc", 0.5}, {"nan", std::numeric_limits<double>::quiet_NaN()}};
  finding.alarm_proven = std::numeric_limits<double>::infinity();
  finding.p_value = 0.25;
  finding.formula = 0.75;
  finding.needed_accuracy = 0.625;
  finding.curve = AuditCurve{4, 5, {{0, 1}, {2, 1}, {5, 4}}};
  finding.note = "ε";
  return finding;
}

TEST(AuditReport, RoundTripsExactly) {
  AuditFinding bare;
  bare.ran = false;
  const std::string text = EncodeAuditReport({"1f3a", "beef", {Finding(), bare}});
  const Result<AuditReport> report = DecodeAuditReport(text);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(EncodeAuditReport(*report), text);
  ASSERT_EQ(report->findings.size(), 2U);
  EXPECT_EQ(report->findings[0].claim, Finding().claim);
  EXPECT_EQ(report->findings[0].kind, AuditKind::canary);
  EXPECT_EQ(report->findings[0].curve, Finding().curve);
  EXPECT_EQ(report->findings[0].needed_accuracy, 0.625);
  EXPECT_FALSE(report->findings[1].claim.has_value());
  EXPECT_FALSE(report->findings[1].ran);
}

TEST(AuditReport, InversionHasTheNameOfItsAttack) {
  AuditFinding finding;
  finding.kind = AuditKind::inversion;
  finding.attack = "gmi";
  const std::string text = EncodeAuditReport({"1f3a", "beef", {finding}});
  const Result<AuditReport> report = DecodeAuditReport(text);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(EncodeAuditReport(*report), text);
  EXPECT_EQ(FormatAuditName(report->findings[0]), "inversion/gmi");
  EXPECT_EQ(FormatAuditName(Finding()), "canary");
  std::string other = text;
  other.replace(other.find("\"gmi\""), 5, "\"psychic\"");
  EXPECT_NE(DecodeAuditReport(other).status().message().find("attack"), std::string::npos);
  // As it was written before there was a choice.
  std::string older = text;
  older.erase(older.find("\"attack\":\"gmi\","), 15);
  const Result<AuditReport> old = DecodeAuditReport(older);
  ASSERT_TRUE(old.ok()) << old.status().message();
  EXPECT_EQ(old->findings[0].attack, "fredrikson");
}

TEST(AuditReport, DamageNamesTheField) {
  for (const auto& [from, to, name] :
       std::vector<std::array<std::string, 3>>{{"\"canary\"", "\"nonsense\"", "kind"},
                                               {"\"format_version\":1", "\"format_version\":2", "format_version"},
                                               {"\"figures\":[", "\"figures\":[3,", "figure"},
                                               {"[0,2,5]", "[0,2]", "curve"},
                                               {"[0,2,5]", "[0,2,6]", "curve"},
                                               {"[0,2,5]", "[0,2,1]", "curve"},
                                               {"[1,1,4]", "[1,1,\"4\"]", "curve"},
                                               {"\"members\":4", "\"members\":0", "curve"},
                                               {"\"curve\":{", "\"curve\":3,\"x\":{", "curve"},
                                               {"\"status\":\"audited\"", "\"status\":\"sure\"", "status"}}) {
    std::string text = EncodeAuditReport({"1f3a", "beef", {Finding()}});
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const Result<AuditReport> report = DecodeAuditReport(text);
    ASSERT_FALSE(report.ok()) << from;
    EXPECT_NE(report.status().message().find(name), std::string::npos) << report.status().message();
  }
  for (const std::string text : {"", "[]", "{}", "{\"findings\":[{}]}", "{\"findings\":3}"})
    EXPECT_FALSE(DecodeAuditReport(text).ok()) << text;
}

// Reports of earlier versions have no curve, no probability and no needed accuracy.
TEST(AuditReport, OfEarlierVersionsIsRead) {
  AuditFinding old = Finding();
  old.p_value = old.formula = old.needed_accuracy = std::nullopt;
  old.curve.reset();
  std::string text = EncodeAuditReport({"1f3a", "beef", {old}});
  for (const std::string name : {"curve", "formula", "needed_accuracy", "p_value"}) {
    const std::string field = "\"" + name + "\":null,";
    const std::size_t at = text.find(field);
    ASSERT_NE(at, std::string::npos) << name;
    text.erase(at, field.size());
  }
  const Result<AuditReport> report = DecodeAuditReport(text);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(EncodeAuditReport(*report), EncodeAuditReport({"1f3a", "beef", {old}}));
}

TEST(AuditOrder, RoundTripsAndNamesWhatIsWrong) {
  AuditOrder order;
  order.trial = "1f3a";
  order.spec = "{\"a\":1}";
  order.kinds = {AuditKind::membership, AuditKind::release_step};
  order.samples = 7;
  order.attacks = {InversionAttack::plg_mi, InversionAttack::gmi};
  order.gan_steps = 3;
  order.claims = {*Finding().claim};
  const std::string text = EncodeAuditOrder(order);
  const Result<AuditOrder> decoded = DecodeAuditOrder(text);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(EncodeAuditOrder(*decoded), text);
  for (const auto& [from, to, name] :
       std::vector<std::array<std::string, 3>>{{"\"membership\"", "\"guess\"", "kinds"},
                                               {"\"samples\":7", "\"samples\":-7", "samples"},
                                               {"\"plg-mi\"", "\"guess\"", "attacks"},
                                               {"\"gan_steps\":3", "\"gan_steps\":-3", "gan_steps"},
                                               {"\"confidence\":0.95", "\"confidence\":1.5", "confidence"}}) {
    std::string wrong = text;
    const std::size_t at = wrong.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    wrong.replace(at, from.size(), to);
    const Result<AuditOrder> refused = DecodeAuditOrder(wrong);
    ASSERT_FALSE(refused.ok()) << from;
    EXPECT_NE(refused.status().message().find(name), std::string::npos) << refused.status().message();
  }
}

TEST(AuditVerdict, LowerBoundAboveTheProofIsALeakAndSaysWhatDisagrees) {
  AuditFinding finding = Finding();
  EXPECT_EQ(FindContradiction(finding), "");
  EXPECT_EQ(FormatVerdict(finding), "the attack succeeds, within what is proven");
  finding.claim->lower = 0;
  EXPECT_EQ(FormatVerdict(finding), "no leak detected at this power");
  finding.alarm_proven.reset();
  finding.proven = 0.1;
  EXPECT_EQ(FindContradiction(finding),
            "canary audit of \"one\" run: the attack shows epsilon >= 0.125, the claim says epsilon <= 0.1");
  EXPECT_EQ(FormatVerdict(finding).find("LEAK beyond what is proven"), 0U);
  finding.alarm_proven = 0.2;  // at the delta of the lower bound
  EXPECT_EQ(FindContradiction(finding), "");
  finding.proven.reset();
  finding.mu_lower = 2;
  finding.mu_proven = 1.5;
  EXPECT_NE(FindContradiction(finding).find("mu >= 2"), std::string::npos);
}

// What one (epsilon, delta) does not refute, the whole curve of what is proven may.
TEST(AuditVerdict, ImprobableGuessesRefuteWhatIsProven) {
  AuditFinding finding = Finding();
  finding.p_value = 2e-6;
  EXPECT_EQ(FindContradiction(finding), "");
  finding.p_value = 1e-7;
  EXPECT_NE(FindContradiction(finding).find("a probability of at most 1e-07"), std::string::npos)
      << FindContradiction(finding);
}

TEST(AuditVerdict, SaysWhereAPapersFormulaClaimsLess) {
  AuditFinding finding = Finding();
  finding.kind = AuditKind::membership;
  finding.formula = 0.25;
  EXPECT_EQ(FormatVerdict(finding), "the attack succeeds, within what is proven");
  finding.formula = 0.125;
  EXPECT_EQ(FormatVerdict(finding), "the attack shows more than the paper's formula claims, within what is proven");
  finding.proven.reset();
  finding.p_value.reset();
  EXPECT_EQ(FormatVerdict(finding), "the attack shows more than the paper's formula claims");
}

// The bound at 95 % may lie above a proof by chance, once in twenty audits; only the one at 1 - 1e-6 accuses.
TEST(AuditVerdict, OnlyTheBoundAtAlarmConfidenceAccuses) {
  AuditFinding finding = Finding();
  finding.proven = finding.alarm_proven = 0.2;
  finding.claim->lower = 0.3;
  EXPECT_EQ(FindContradiction(finding), "");
}

TEST(AuditKinds, HaveNames) {
  for (const std::string& name : AuditKindNames()) EXPECT_EQ(AuditKindName(*FindAuditKind(name)), name);
  EXPECT_FALSE(FindAuditKind("all").has_value());
}

}  // namespace
}  // namespace retort::privacy
