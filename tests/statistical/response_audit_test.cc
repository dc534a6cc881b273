// The audit of randomised response that `retort audit` runs.
#include <gtest/gtest.h>

#include "worker/audit/release_step.h"

namespace retort::worker::audit {
namespace {

TrialSpec Spec(const std::string& method, Reading reading, double epsilon0) {
  TrialSpec spec;
  spec.method = method;
  spec.reading = reading;
  spec.release.branch = method == "feddpsd" ? Branch::label : Branch::data;
  spec.release.top_k = method == "dp-dfd" ? 0 : 3;
  spec.release.epsilon0 = epsilon0;
  if (method == "dpsd-label" && reading == Reading::printed) spec.release.response_over = ResponseOver::classes;
  return spec;
}

// So many samples that the lower bound's deviation over runs, 0.01 of an epsilon of 1 at 100,000, is half of that.
privacy::AuditFinding Audit(const TrialSpec& spec) {
  Result<privacy::AuditFinding> finding = AuditResponseStep(spec, 10, {.samples = 400'000});
  EXPECT_TRUE(finding.ok()) << finding.status().message();
  return finding.ok() ? std::move(finding).value() : privacy::AuditFinding();
}

TEST(ResponseAudit, GivesAwayWhatItsEventClaimsAndNoMore) {
  for (const char* method : {"dp-dfd", "dpsd-label", "feddpsd"}) {
    const privacy::AuditFinding finding = Audit(Spec(method, Reading::working, 1));
    EXPECT_EQ(privacy::FindContradiction(finding), "") << method;
    EXPECT_EQ(privacy::FormatVerdict(finding), "no leak detected at this power") << method;
    EXPECT_NEAR(*finding.proven, 1, 1.1e-3);
    EXPECT_GE(finding.claim->lower.value_or(0), 0.95) << method << ": the audit has lost its power";
    // The response gives away exactly what it claims, so a bound at 95 % is above it once in twenty.
    EXPECT_LE(*finding.alarm_lower, *finding.proven);
  }
}

TEST(ResponseAudit, LooksAtAnEpsilonThatItsSamplesCanShow) {
  const privacy::AuditFinding finding = Audit(Spec("dp-dfd", Reading::working, 10));
  EXPECT_NEAR(*finding.proven, kMaxAuditedEpsilon, 1.1e-3);
  EXPECT_EQ(privacy::FindContradiction(finding), "");
}

// Twice the epsilon that is claimed.
TEST(ResponseAudit, TooLittleNoiseIsAContradiction) {
  privacy::AuditFinding finding = Audit(Spec("dpsd-label", Reading::working, 2));
  finding.proven = 1;
  EXPECT_NE(privacy::FindContradiction(finding), "");
}

TEST(ResponseAudit, PrintedFormsHaveNothingToAudit) {
  for (const char* method : {"dp-dfd", "dpsd-label"}) {
    const auto finding = AuditResponseStep(Spec(method, Reading::printed, 1), 10, {.samples = 100});
    EXPECT_EQ(finding.status().code(), StatusCode::refused) << method;
  }
}

}  // namespace
}  // namespace retort::worker::audit
