// Reports of audits beside their trials.
#include "orchestrator/results/audit_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "storage/files/env.h"
#include "tests/testing/another_user.h"
#include "tests/testing/failing_reads_env.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator {
namespace {

class AuditStore : public ::testing::Test {
 protected:
  AuditStore() {
    ::chmod(folder_.path().c_str(), 0755);
    trial_.folder = "trials/x";
    trial_.row.emplace();
    trial_.row->trial = "000000000000001f";
    trial_.row->row_digest = "beef";
  }

  static privacy::AuditFinding Finding(privacy::AuditKind kind, const std::string& subject, double lower = 0.5) {
    privacy::AuditFinding finding;
    finding.kind = kind;
    finding.subject = subject;
    finding.claim.emplace();
    finding.claim->status = privacy::ClaimStatus::audited;
    finding.claim->lower = lower;
    return finding;
  }

  static privacy::AuditFinding Refuting(const std::string& subject) {
    privacy::AuditFinding leak = Finding(privacy::AuditKind::canary, subject);
    leak.alarm_lower = 2;
    leak.proven = 1;
    return leak;
  }

  privacy::AuditReport Store(std::vector<privacy::AuditFinding> findings) {
    auto stored = StoreAudit(storage::PosixEnv(), results_, trial_, std::move(findings));
    EXPECT_TRUE(stored.ok()) << stored.status().message();
    return std::move(stored).value();
  }

  testing::TemporaryDirectory folder_;  // the results root
  const std::string results_ = folder_ / "sweep";
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
  const auto read = ReadAudit(storage::PosixEnv(), results_, trial_);
  ASSERT_TRUE(read.ok() && read->has_value());
  EXPECT_EQ(privacy::EncodeAuditReport(**read), privacy::EncodeAuditReport(report));
}

TEST_F(AuditStore, InversionsByOtherAttacksStandSideBySide) {
  const auto inversion = [](const std::string& attack, const std::string& subject) {
    privacy::AuditFinding finding = Finding(AuditKind::inversion, subject);
    finding.attack = attack;
    return finding;
  };
  Store({inversion("fredrikson", "old"), inversion("gmi", "old")});
  const privacy::AuditReport report = Store({inversion("gmi", "new")});
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].subject, "new");
  EXPECT_EQ(report.findings[1].attack, "fredrikson");
}

TEST_F(AuditStore, ReportOfAnEarlierResultCountsForNothing) {
  Store({Finding(AuditKind::membership, "old")});
  trial_.row->row_digest = "f00d";
  const auto read = ReadAudit(storage::PosixEnv(), results_, trial_);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->has_value());
  EXPECT_EQ(Store({Finding(AuditKind::canary, "new")}).findings.size(), 1U);
}

TEST_F(AuditStore, DamageNamesTheFileAndGivesWayToNoNewReport) {
  Store({Finding(AuditKind::membership, "old")});
  const std::string path = results_ + "/trials/x/audit.json";
  const std::string whole = storage::PosixEnv().ReadFile(path).value();
  for (const std::string& bytes : {std::string(), std::string("{"), whole.substr(0, whole.size() / 2)}) {
    ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(path, bytes).ok());
    const auto read = ReadAudit(storage::PosixEnv(), results_, trial_);
    EXPECT_EQ(read.status().code(), StatusCode::damage);
    EXPECT_NE(read.status().message().find("audit.json"), std::string::npos);
    const auto stored = StoreAudit(storage::PosixEnv(), results_, trial_, {Finding(AuditKind::canary, "new")});
    EXPECT_EQ(stored.status().code(), StatusCode::damage);
    EXPECT_NE(stored.status().message().find("move it away"), std::string::npos);
    EXPECT_EQ(storage::PosixEnv().ReadFile(path).value(), bytes) << "it is left as it was";
  }
}

TEST_F(AuditStore, ReportThatMayNotBeReadIsNotAbsent) {
  Store({Finding(AuditKind::membership, "old")});
  for (const char* closed : {"/trials/x/audit.json", "/trials/x", "/trials"}) {
    ASSERT_EQ(::chmod((results_ + closed).c_str(), ::geteuid() == 0 ? 0700 : 0), 0);
    {
      const testing::AnotherUser nobody;
      EXPECT_EQ(ReadAudit(storage::PosixEnv(), results_, trial_).status().code(), StatusCode::environment) << closed;
      EXPECT_TRUE(StoredAudits(storage::PosixEnv(), results_).MayKnow(trial_.row->trial, trial_.folder)) << closed;
    }
    ASSERT_EQ(::chmod((results_ + closed).c_str(), 0755), 0);
  }
}

TEST_F(AuditStore, ReportThatFailsToBeReadIsNotAbsent) {
  Store({Finding(AuditKind::membership, "old")});
  for (const int error : {EIO, ELOOP, ENOTDIR, EACCES}) {
    testing::FailingReadsEnv env("/audit.json", error);
    EXPECT_EQ(ReadAudit(env, results_, trial_).status().code(), StatusCode::environment) << error;
    EXPECT_EQ(MayStoreAudit(env, results_, trial_).code(), StatusCode::environment) << error;
  }
  Store({Refuting("a run")});
  for (const int error : {EIO, ELOOP, ENOTDIR, EACCES}) {
    testing::FailingReadsEnv env("/refuted", error);
    EXPECT_EQ(ReadAudit(env, results_, trial_).status().code(), StatusCode::environment) << error;
    EXPECT_TRUE(StoredAudits(env, results_).MayKnow(trial_.row->trial, "")) << error;
  }
}

TEST_F(AuditStore, RootRemembersWhatWasRefuted) {
  Store({Refuting("a run")});
  const std::string beside = results_ + "/trials/x/audit.json";
  const std::string noted = folder_.path() + "/refuted";
  for (const char* bytes : {"", "{"}) {
    ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(beside, bytes).ok());
    const auto read = ReadAudit(storage::PosixEnv(), results_, trial_);
    ASSERT_TRUE(read.ok() && read->has_value());
    EXPECT_EQ(ListContradictions(**read).size(), 1U);
  }
  ASSERT_TRUE(storage::PosixEnv().Remove(beside).ok());
  EXPECT_EQ(ListContradictions(**ReadAudit(storage::PosixEnv(), results_, trial_)).size(), 1U);
  EXPECT_TRUE(StoredAudits(storage::PosixEnv(), results_).MayKnow(trial_.row->trial, ""));
  std::filesystem::remove_all(results_ + "/refuted");
  const std::string file = noted + "/" + storage::PosixEnv().List(noted).value().at(0);
  ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(file, "").ok());
  EXPECT_EQ(ReadAudit(storage::PosixEnv(), results_, trial_).status().code(), StatusCode::damage);
  ASSERT_EQ(::chmod(noted.c_str(), ::geteuid() == 0 ? 0700 : 0), 0);
  {
    const testing::AnotherUser nobody;
    EXPECT_EQ(ReadAudit(storage::PosixEnv(), results_, trial_).status().code(), StatusCode::environment);
  }
  ASSERT_EQ(::chmod(noted.c_str(), 0755), 0);
}

TEST_F(AuditStore, NoLaterAuditTakesBackWhatOneRefuted) {
  const std::string beside = results_ + "/trials/x/audit.json";
  const auto contradictions = [&] {
    return ListContradictions(**ReadAudit(storage::PosixEnv(), results_, trial_)).size();
  };
  Store({Refuting("a run")});
  Store({Finding(AuditKind::membership, "of another kind")});
  EXPECT_EQ(contradictions(), 1U);
  Store({Finding(AuditKind::canary, "a weaker one")});
  EXPECT_EQ(contradictions(), 1U);
  ASSERT_TRUE(storage::PosixEnv().Remove(beside).ok());
  Store({Finding(AuditKind::canary, "where the report is lost")});
  EXPECT_EQ(contradictions(), 1U);
  Store({Refuting("another run")});
  EXPECT_EQ(contradictions(), 1U);
  for (const std::string& root : {folder_.path(), results_}) std::filesystem::remove_all(root + "/refuted");
  Store({Finding(AuditKind::canary, "where the notes are lost")});
  EXPECT_EQ(contradictions(), 1U);
  trial_.row->row_digest = "of a result made anew";
  EXPECT_FALSE(ReadAudit(storage::PosixEnv(), results_, trial_)->has_value());
}

TEST_F(AuditStore, FolderRemembersWhatWasRefutedInAnotherRoot) {
  Store({Refuting("a run")});
  ASSERT_TRUE(storage::PosixEnv().Remove(results_ + "/trials/x/audit.json").ok());
  ASSERT_TRUE(storage::PosixEnv().Remove(results_ + "/audited").ok());
  const std::string moved = folder_ / "elsewhere/sweep";
  ASSERT_TRUE(storage::PosixEnv().CreateDirectories(folder_ / "elsewhere").ok());
  ASSERT_EQ(std::rename(results_.c_str(), moved.c_str()), 0);
  const auto read = ReadAudit(storage::PosixEnv(), moved, trial_);
  ASSERT_TRUE(read.ok() && read->has_value());
  EXPECT_EQ(ListContradictions(**read).size(), 1U);
  EXPECT_TRUE(StoredAudits(storage::PosixEnv(), moved).MayKnow(trial_.row->trial, ""));
  EXPECT_TRUE(MayBeAudited(storage::PosixEnv(), moved));
  ASSERT_TRUE(StoreAudit(storage::PosixEnv(), moved, trial_, {Finding(AuditKind::canary, "a weaker one")}).ok());
  EXPECT_EQ(ListContradictions(**ReadAudit(storage::PosixEnv(), moved, trial_)).size(), 1U);
}

TEST_F(AuditStore, ReportLargerThanAnyIsDamageAndNotRead) {
  Store({Finding(AuditKind::membership, "old")});
  ASSERT_EQ(::truncate((results_ + "/trials/x/audit.json").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(ReadAudit(storage::PosixEnv(), results_, trial_).status().code(), StatusCode::damage);
}

TEST_F(AuditStore, OlderReportThatIsPutBackDoesNotHideWhatWasRefuted) {
  const std::string path = results_ + "/trials/x/audit.json";
  Store({Finding(AuditKind::canary, "harmless")});
  const std::string harmless = storage::PosixEnv().ReadFile(path).value();
  Store({Refuting("a run")});
  ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(path, harmless).ok());
  EXPECT_EQ(ListContradictions(**ReadAudit(storage::PosixEnv(), results_, trial_)).size(), 1U);
}

TEST_F(AuditStore, ClaimsAreRoundedDownAtNinetyFivePercent) {
  privacy::AuditFinding loose = Finding(AuditKind::canary, "loose");
  loose.confidence = 0.9;
  const privacy::AuditReport report{
      "", "", {Finding(AuditKind::release_step, "step"), loose, Finding(AuditKind::membership, "loss", 0.12399)}};
  const std::vector<privacy::Claim> claims = ListAuditedClaims(report);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].lower, 0.123);
  EXPECT_NE(claims[0].reason.find("loss"), std::string::npos);
}

TEST_F(AuditStore, ContradictionsAreSentences) {
  privacy::AuditFinding leak = Finding(AuditKind::canary, "a run");
  leak.alarm_lower = 2;
  leak.proven = 1;
  EXPECT_EQ(ListContradictions({"", "", {Finding(AuditKind::membership, "loss"), leak}}).size(), 1U);
}

}  // namespace
}  // namespace retort::orchestrator
