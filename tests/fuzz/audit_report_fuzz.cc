// Whatever lies in a trial's audit.json is a report that is written again as it was read, or is refused: nobody takes a
// damaged one for a report that refutes nothing.
#include "experiments/privacy/audit_report.h"
#include "tests/fuzz/fuzz_target.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  privacy::AuditReport report;
  report.trial = "0123456789abcdef";
  report.row_digest = std::string(64, 'a');
  std::vector<std::string> seeds{privacy::EncodeAuditReport(report)};
  privacy::AuditFinding refuting;
  refuting.kind = privacy::AuditKind::canary;
  refuting.subject = "one example in 1000 coins";
  refuting.claim = privacy::Claim{};
  refuting.claim->adjacency = privacy::Adjacency::example;
  refuting.claim->status = privacy::ClaimStatus::audited;
  refuting.claim->lower = 3.5;
  refuting.claim->delta = 1e-5;
  refuting.proven = 2.5;
  refuting.alarm_lower = 3.25;
  refuting.alarm_proven = 2.75;
  refuting.mu_lower = 0.5;
  refuting.mu_proven = 0.25;
  refuting.detectable = 0.125;
  refuting.ceiling = 9;
  refuting.figures = {{"auc", 0.75}, {"guesses", 512}};
  privacy::AuditFinding skipped;
  skipped.ran = false;
  skipped.note = "the network has no canaries";
  report.findings = {refuting, skipped};
  seeds.push_back(privacy::EncodeAuditReport(report));
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  const auto report = privacy::DecodeAuditReport(std::string(testing::Bytes(data, size)));
  if (!report.ok()) {
    testing::CheckRefusal(report.status());
    return 0;
  }
  const std::string json = privacy::EncodeAuditReport(*report);
  const auto again = privacy::DecodeAuditReport(json);
  RETORT_CHECK(again.ok() && privacy::EncodeAuditReport(*again) == json);
  RETORT_CHECK(again->findings.size() == report->findings.size());
  for (std::size_t i = 0; i < report->findings.size(); ++i)
    RETORT_CHECK(FindContradiction(again->findings[i]) == FindContradiction(report->findings[i]));
  return 0;
}
