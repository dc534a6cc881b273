#include "orchestrator/audit_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retort::orchestrator {
namespace {

std::string PathOf(const std::string& results, const std::string& folder) {
  return results + "/" + folder + "/audit.json";
}

std::string MarkOf(const std::string& results) { return results + "/audited"; }

bool Replaced(const privacy::AuditFinding& old, const std::vector<privacy::AuditFinding>& by) {
  return std::any_of(by.begin(), by.end(),
                     [&old](const privacy::AuditFinding& finding) { return finding.kind == old.kind; });
}

}  // namespace

bool HasAudit(storage::Env& env, const std::string& results, const std::string& folder) {
  return !folder.empty() && env.Exists(PathOf(results, folder));
}

bool HasAuditMark(storage::Env& env, const std::string& results) { return env.Exists(MarkOf(results)); }

Result<storage::FileStamp> StampOfAudits(storage::Env& env, const std::string& results) {
  return env.Stamp(MarkOf(results));
}

Result<std::optional<privacy::AuditReport>> ReadAudit(storage::Env& env, const std::string& results,
                                                      const TrialView& trial) {
  if (!trial.row) return std::optional<privacy::AuditReport>();
  return ReadAudit(env, results, trial.folder, *trial.row);
}

Result<std::optional<privacy::AuditReport>> ReadAudit(storage::Env& env, const std::string& results,
                                                      const std::string& folder,
                                                      const storage::ResultRow& row) {
  if (!HasAudit(env, results, folder)) return std::optional<privacy::AuditReport>();
  const std::string path = PathOf(results, folder);
  RETORT_ASSIGN_OR_RETURN(const std::string text, env.ReadFile(path));
  Result<privacy::AuditReport> report = privacy::DecodeAuditReport(text);
  if (!report.ok()) return DamageError(path + ": " + report.status().message());
  if (report->row_digest != row.row_digest || report->trial != row.trial)
    return std::optional<privacy::AuditReport>();
  return std::optional(std::move(report).value());
}

Result<privacy::AuditReport> StoreAudit(storage::Env& env, const std::string& results, const TrialView& trial,
                                        std::vector<privacy::AuditFinding> findings) {
  RETORT_CHECK(trial.row.has_value());
  privacy::AuditReport report{trial.row->trial, trial.row->row_digest, std::move(findings)};
  const Result<std::optional<privacy::AuditReport>> stored = ReadAudit(env, results, trial);
  // A damaged report gives way to the new one.
  if (stored.ok() && stored->has_value())
    for (const privacy::AuditFinding& old : (*stored)->findings)
      if (!Replaced(old, report.findings)) report.findings.push_back(old);
  std::stable_sort(
      report.findings.begin(), report.findings.end(),
      [](const privacy::AuditFinding& a, const privacy::AuditFinding& b) { return a.kind < b.kind; });
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(results + "/" + trial.folder));
  if (!HasAuditMark(env, results)) RETORT_RETURN_IF_ERROR(env.WriteFileAtomically(MarkOf(results), ""));
  RETORT_RETURN_IF_ERROR(
      env.WriteFileAtomically(PathOf(results, trial.folder), privacy::EncodeAuditReport(report) + "\n"));
  RETORT_RETURN_IF_ERROR(env.WriteFileAtomically(MarkOf(results), ""));
  return report;
}

std::vector<privacy::Claim> AuditedClaims(const privacy::AuditReport& report) {
  constexpr double kPrinted = 0.95;
  std::vector<privacy::Claim> claims;
  for (const privacy::AuditFinding& finding : report.findings) {
    if (!finding.claim || finding.kind == privacy::AuditKind::release_step || finding.confidence < kPrinted)
      continue;
    privacy::Claim claim = *finding.claim;
    claim.lower = std::floor(claim.lower.value_or(0) * 1000) / 1000;
    claim.reason = finding.subject + ": " + privacy::VerdictOf(finding);
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::vector<std::string> Contradictions(const privacy::AuditReport& report) {
  std::vector<std::string> sentences;
  for (const privacy::AuditFinding& finding : report.findings)
    if (std::string sentence = privacy::ContradictionOf(finding); !sentence.empty())
      sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace retort::orchestrator
