// Reports of audits beside their trials.
#include "orchestrator/audit_store.h"

#include <gtest/gtest.h>

#include "storage/env.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator {
namespace {

class AuditStore : public ::testing::Test {
 protected:
  AuditStore() {
    trial_.folder = "trials/x";
    trial_.row.emplace();
    trial_.row->trial = "000000000000001f";
    trial_.row->row_digest = "beef";
  }

  static privacy::AuditFinding Finding(privacy::AuditKind kind, const std::string& subject,
                                       double lower = 0.5) {
    privacy::AuditFinding finding;
    finding.kind = kind;
    finding.subject = subject;
    finding.claim.emplace();
    finding.claim->status = privacy::ClaimStatus::audited;
    finding.claim->lower = lower;
    return finding;
  }

  privacy::AuditReport Store(std::vector<privacy::AuditFinding> findings) {
    auto stored = StoreAudit(storage::PosixEnv(), folder_.path(), trial_, std::move(findings));
    EXPECT_TRUE(stored.ok()) << stored.status().message();
    return std::move(stored).value();
  }

  testing::TemporaryDirectory folder_;
  TrialView trial_;
};

using privacy::AuditKind;

TEST_F(AuditStore, NewFindingsReplaceThoseOfTheirKindAndKeepTheRest) {
  Store({Finding(AuditKind::membership, "old"), Finding(AuditKind::membership, "old too")});
  const privacy::AuditReport report =
      Store({Finding(AuditKind::membership, "new"), Finding(AuditKind::release_step, "step")});
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].subject, "step");
  EXPECT_EQ(report.findings[1].subject, "new");
  const auto read = ReadAudit(storage::PosixEnv(), folder_.path(), trial_);
  ASSERT_TRUE(read.ok() && read->has_value());
  EXPECT_EQ(privacy::EncodeAuditReport(**read), privacy::EncodeAuditReport(report));
}

TEST_F(AuditStore, ReportOfAnEarlierResultCountsForNothing) {
  Store({Finding(AuditKind::membership, "old")});
  trial_.row->row_digest = "f00d";
  const auto read = ReadAudit(storage::PosixEnv(), folder_.path(), trial_);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->has_value());
  EXPECT_EQ(Store({Finding(AuditKind::canary, "new")}).findings.size(), 1U);
}

TEST_F(AuditStore, DamageNamesTheFileAndGivesWayToANewReport) {
  Store({Finding(AuditKind::membership, "old")});
  const std::string path = folder_.path() + "/trials/x/audit.json";
  ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(path, "{").ok());
  const auto read = ReadAudit(storage::PosixEnv(), folder_.path(), trial_);
  EXPECT_EQ(read.status().code(), StatusCode::damage);
  EXPECT_NE(read.status().message().find("audit.json"), std::string::npos);
  EXPECT_EQ(Store({Finding(AuditKind::canary, "new")}).findings.size(), 1U);
}

TEST_F(AuditStore, ClaimsAreOfTheTrialItselfRoundedDownAndAtNinetyFivePercent) {
  privacy::AuditFinding loose = Finding(AuditKind::canary, "loose");
  loose.confidence = 0.9;
  const privacy::AuditReport report{
      "",
      "",
      {Finding(AuditKind::release_step, "step"), loose, Finding(AuditKind::membership, "loss", 0.12399)}};
  const std::vector<privacy::Claim> claims = AuditedClaims(report);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].lower, 0.123);
  EXPECT_NE(claims[0].reason.find("loss"), std::string::npos);
}

TEST_F(AuditStore, ContradictionsAreSentences) {
  privacy::AuditFinding leak = Finding(AuditKind::canary, "a run");
  leak.alarm_lower = 2;
  leak.proven = 1;
  EXPECT_EQ(Contradictions({"", "", {Finding(AuditKind::membership, "loss"), leak}}).size(), 1U);
}

}  // namespace
}  // namespace retort::orchestrator
