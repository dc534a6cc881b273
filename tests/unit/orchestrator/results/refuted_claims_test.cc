// Claims that an audit refutes are shown by nobody, and nothing that rested on them.
#include "orchestrator/results/refuted_claims.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orchestrator/results/audit_store.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::orchestrator {
namespace {

using privacy::Adjacency;
using privacy::AuditKind;
using privacy::Claim;
using privacy::ClaimStatus;

// A DP-SGD teacher, the student that asks it, and an ensemble's student beside them.
class RefutedClaims : public ::testing::Test {
 protected:
  RefutedClaims() {
    view_.directory = folder_ / "sweep";
    TrialSpec teacher = privacy::DpSgd(Role::teacher);
    teacher.id = TrialId(1);
    Add(teacher, {});
    TrialSpec student = privacy::GradientStudent(Reading::sound);
    student.id = TrialId(2);
    student.parent = teacher.id;
    Add(student, view_.trials[0].row->claims);
    TrialSpec votes = privacy::VoteStudent();
    votes.id = TrialId(3);
    Add(votes, {});
    stored_ = view_;
  }

  void Add(const TrialSpec& spec, const std::vector<Claim>& teacher) {
    TrialView trial;
    trial.spec = spec;
    trial.state = TrialState::succeeded;
    trial.folder = "trials/" + spec.id.Hex();
    const std::vector<privacy::PrivacyEvent> events = privacy::PlanEvents(spec).value();
    for (const privacy::PrivacyEvent& event : events) {
      storage::LedgerEntry entry;
      entry.id = view_.ledger.size() + 1;
      entry.data_digest = "d";
      entry.attempt = {spec.id, 1};
      entry.event = event;
      view_.ledger.push_back(entry);
    }
    trial.row.emplace();
    trial.row->trial = spec.id.Hex();
    trial.row->row_digest = "beef";
    trial.row->claims = privacy::ComputeClaims({&spec, teacher}, events);
    view_.trials.push_back(trial);
  }

  void Audit(std::size_t trial, AuditKind kind, bool refutes) {
    privacy::AuditFinding finding;
    finding.kind = kind;
    finding.subject = "a run";
    finding.mu_lower = refutes ? 2.5 : 1.5;
    finding.mu_proven = 2;
    ASSERT_TRUE(StoreAudit(storage::PosixEnv(), view_.directory, view_.trials[trial], {finding}).ok());
  }

  void Show() {
    view_ = stored_;
    WithdrawRefuted(storage::PosixEnv(), view_);
  }

  [[nodiscard]] int Proven(std::size_t trial) const {
    const std::vector<Claim>& claims = view_.trials[trial].row->claims;
    return static_cast<int>(std::count_if(claims.begin(), claims.end(),
                                          [](const Claim& claim) { return claim.status == ClaimStatus::proven; }));
  }

  testing::TemporaryDirectory folder_;
  ResultsView view_, stored_;
};

TEST_F(RefutedClaims, NothingProvenIsLeftOfTheTrialNorOfItsStudents) {
  ASSERT_GT(Proven(0), 0);
  ASSERT_GT(Proven(1), 0);
  Audit(0, AuditKind::release_step, true);
  Show();
  EXPECT_EQ(Proven(0), 0);
  EXPECT_EQ(Proven(1), 0);
  EXPECT_GT(Proven(2), 0) << "another trial keeps its claims";
  ASSERT_EQ(view_.trials[0].refuted.size(), 1U);
  EXPECT_NE(view_.trials[0].refuted[0].find("release-step audit of a run"), std::string::npos);
  EXPECT_TRUE(view_.trials[1].refuted.empty());
  EXPECT_TRUE(view_.trials[1].refuted_teacher);
  for (const std::size_t trial : {0U, 1U}) {
    const Claim* claim =
        privacy::Find(view_.trials[trial].row->claims, Adjacency::example, privacy::Neighbour::replace);
    ASSERT_NE(claim, nullptr);
    EXPECT_FALSE(std::isfinite(claim->epsilon));
    EXPECT_EQ(claim->reason, "refuted-by-audit");
    EXPECT_TRUE(claim->accountant.empty());
  }
}

TEST_F(RefutedClaims, AuditThatRefutesNothingChangesNothing) {
  Audit(0, AuditKind::canary, false);
  Show();
  for (std::size_t i = 0; i < view_.trials.size(); ++i) {
    EXPECT_EQ(view_.trials[i].row->claims, stored_.trials[i].row->claims);
    EXPECT_TRUE(view_.trials[i].refuted.empty());
    EXPECT_FALSE(view_.trials[i].refuted_teacher);
  }
}

TEST_F(RefutedClaims, ReportOfAnEarlierResultRefutesNothing) {
  Audit(0, AuditKind::canary, true);
  stored_.trials[0].row->row_digest = "f00d";
  Show();
  EXPECT_GT(Proven(0), 0);
}

TEST_F(RefutedClaims, UnknownAuditResultsLeaveNothingProven) {
  Audit(0, AuditKind::canary, false);
  const std::string report = stored_.directory + "/" + stored_.trials[0].folder + "/audit.json";
  for (const char* bytes : {"", R"({"format_version":1)"}) {
    ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(report, bytes).ok());
    Show();
    EXPECT_EQ(Proven(0), 0);
    EXPECT_EQ(Proven(1), 0);
    EXPECT_GT(Proven(2), 0) << "another trial keeps its claims";
    EXPECT_NE(view_.trials[0].audit_unknown.find("audit.json"), std::string::npos);
    EXPECT_TRUE(view_.trials[0].refuted.empty());
    EXPECT_TRUE(view_.trials[1].audit_unknown.empty());
    EXPECT_TRUE(view_.trials[1].unknown_teacher_audit);
    EXPECT_FALSE(view_.trials[1].refuted_teacher);
    EXPECT_EQ(FindAuditVoid(view_.trials[0]), "audit-unreadable");
    const Claim* claim = privacy::Find(view_.trials[0].row->claims, Adjacency::example, privacy::Neighbour::replace);
    ASSERT_NE(claim, nullptr);
    EXPECT_FALSE(std::isfinite(claim->epsilon));
    EXPECT_EQ(claim->reason, "audit-unreadable");
  }
}

TEST_F(RefutedClaims, RefutedStaysRefutedWhereTheReportIsGoneOrDamaged) {
  Audit(0, AuditKind::canary, true);
  const std::string report = stored_.directory + "/" + stored_.trials[0].folder + "/audit.json";
  ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(report, "").ok());
  Show();
  EXPECT_EQ(FindAuditVoid(view_.trials[0]), "refuted-by-audit");
  ASSERT_TRUE(storage::PosixEnv().Remove(report).ok());
  Show();
  EXPECT_EQ(FindAuditVoid(view_.trials[0]), "refuted-by-audit");
  EXPECT_EQ(Proven(0), 0);
  EXPECT_EQ(Proven(1), 0);
}

TEST_F(RefutedClaims, FormulasAndLowerBoundsStand) {
  Audit(2, AuditKind::transcript, true);
  Show();
  EXPECT_EQ(Proven(2), 0);
  EXPECT_NE(privacy::FindPaper(view_.trials[2].row->claims), nullptr);
  EXPECT_GT(Proven(1), 0);
}

}  // namespace
}  // namespace retort::orchestrator
