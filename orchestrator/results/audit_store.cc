#include "orchestrator/results/audit_store.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/base/ids.h"
#include "experiments/methods/spec_codec.h"
#include "orchestrator/results/shared_examples.h"
#include "storage/files/env.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kDigestDigits = 16;

std::string FormatReportName(const std::string& trial, const std::string& row_digest) {
  return trial + "-" + ComputeSha256Hex(row_digest).substr(0, kDigestDigits) + ".json";
}

Result<std::vector<std::string>> NamesIn(storage::Env& env, const std::string& folder) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, folder));
  if (!there) return std::vector<std::string>();
  return env.List(folder);
}

}  // namespace

std::string GetRefutationsFolder(const std::string& root) { return root + "/refuted"; }

RefutationNotes::RefutationNotes(storage::Env& env, const std::string& root)
    : env_(env), folder_(GetRefutationsFolder(root)) {
  Result<std::vector<std::string>> names = NamesIn(env, folder_);
  if (names.ok())
    names_.insert(names->begin(), names->end());
  else
    trouble_ = "what audits refuted is noted in " + folder_ + ", and that cannot be read: " + names.status().message();
}

bool RefutationNotes::Names(const std::string& trial) const {
  const auto first = names_.lower_bound(trial + "-");
  return first != names_.end() && first->starts_with(trial + "-");
}

Result<std::optional<privacy::AuditReport>> RefutationNotes::Of(const std::string& trial,
                                                                const std::string& row_digest) const {
  if (!trouble_.empty()) return EnvironmentError(trouble_);
  const std::string name = FormatReportName(trial, row_digest), path = folder_ + "/" + name;
  if (!names_.contains(name)) return std::optional<privacy::AuditReport>();
  RETORT_ASSIGN_OR_RETURN(const std::string text, env_.ReadSmallFile(path, kMaxBytesOfReport));
  Result<privacy::AuditReport> report = privacy::DecodeAuditReport(text);
  if (!report.ok()) return DamageError(path + ": " + report.status().message());
  if (report->trial != trial || report->row_digest != row_digest)
    return DamageError(path + " is the report on another result");
  return std::optional(std::move(report).value());
}

Status NoteRefutation(storage::Env& env, const std::string& root, const privacy::AuditReport& report) {
  if (!TrialId::FromHex(report.trial)) return DamageError("'" + report.trial + "' is the id of no trial");
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(GetRefutationsFolder(root)));
  return env.WriteFileAtomically(GetRefutationsFolder(root) + "/" + FormatReportName(report.trial, report.row_digest),
                                 privacy::EncodeAuditReport(report) + "\n");
}

namespace {

std::string GetReportPath(const std::string& results, const std::string& folder) {
  return results + "/" + folder + "/audit.json";
}

std::string GetMarkPath(const std::string& results) { return results + "/audited"; }

bool Refutes(const privacy::AuditFinding& finding) { return !privacy::FindContradiction(finding).empty(); }

// By one of its kind and attack; what refutes only by what refutes as well, since a weaker attack takes nothing back.
bool Replaced(const privacy::AuditFinding& old, const std::vector<privacy::AuditFinding>& by) {
  return std::any_of(by.begin(), by.end(), [&old](const privacy::AuditFinding& finding) {
    return finding.kind == old.kind && finding.attack == old.attack && (!Refutes(old) || Refutes(finding));
  });
}

// Findings of `noted` that refute something and that `report` has not.
void AddRefuting(const privacy::AuditReport& noted, privacy::AuditReport& report) {
  for (const privacy::AuditFinding& finding : noted.findings) {
    const std::string what = privacy::FindContradiction(finding);
    const bool known = std::any_of(report.findings.begin(), report.findings.end(),
                                   [&](const auto& other) { return privacy::FindContradiction(other) == what; });
    if (!what.empty() && !known) report.findings.push_back(finding);
  }
}

// Links are followed.
Result<std::string> ReadReport(storage::Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::InputFile> file, env.OpenInput(path));
  if (file->size() > kMaxBytesOfReport) return DamageError(path + " is larger than any report of an audit");
  return storage::ReadBytes(*file, 0, file->size());
}

}  // namespace

StoredAudits::StoredAudits(storage::Env& env, std::string results)
    : env_(env),
      results_(std::move(results)),
      notes_{RefutationNotes(env, FindResultsRoot(results_)), RefutationNotes(env, results_)} {}

bool StoredAudits::MayKnow(const std::string& trial, const std::string& folder) const {
  const auto knows = [&trial](const RefutationNotes& notes) { return !notes.trouble().empty() || notes.Names(trial); };
  if (std::any_of(notes_.begin(), notes_.end(), knows)) return true;
  return !folder.empty() && storage::MayExist(env_, GetReportPath(results_, folder));
}

Result<std::optional<privacy::AuditReport>> StoredAudits::Beside(const std::string& folder,
                                                                 const storage::ResultRow& row) const {
  const std::string path = GetReportPath(results_, folder);
  RETORT_ASSIGN_OR_RETURN(const bool there, folder.empty() ? Result(false) : storage::PathExists(env_, path));
  if (!there) return std::optional<privacy::AuditReport>();
  RETORT_ASSIGN_OR_RETURN(const std::string text, ReadReport(env_, path));
  Result<privacy::AuditReport> report = privacy::DecodeAuditReport(text);
  if (!report.ok()) return DamageError(path + ": " + report.status().message());
  if (report->trial != row.trial) return DamageError(path + " is the report on another trial");
  if (report->row_digest != row.row_digest) return std::optional<privacy::AuditReport>();
  return std::optional(std::move(report).value());
}

Result<std::optional<privacy::AuditReport>> StoredAudits::Noted(const storage::ResultRow& row) const {
  std::optional<privacy::AuditReport> found;
  Status trouble;
  for (const RefutationNotes& notes : notes_) {
    Result<std::optional<privacy::AuditReport>> noted = notes.Of(row.trial, row.row_digest);
    if (!noted.ok())
      trouble = noted.status();
    else if (noted->has_value() && found)
      AddRefuting(**noted, *found);
    else if (noted->has_value())
      found = **std::move(noted);
  }
  if (!found && !trouble.ok()) return trouble;
  return found;
}

Result<std::optional<privacy::AuditReport>> StoredAudits::Of(const std::string& folder,
                                                             const storage::ResultRow& row) const {
  RETORT_ASSIGN_OR_RETURN(std::optional<privacy::AuditReport> noted, Noted(row));
  Result<std::optional<privacy::AuditReport>> beside = Beside(folder, row);
  if (!noted) return beside;
  if (!beside.ok() || !beside->has_value()) return noted;
  AddRefuting(*noted, **beside);
  return beside;
}

std::string RemoveFullStop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool MayBeAudited(storage::Env& env, const std::string& results) {
  return storage::MayExist(env, GetMarkPath(results)) || storage::MayExist(env, GetRefutationsFolder(results));
}

Result<storage::FileStamp> ReadAuditStamp(storage::Env& env, const std::string& results) {
  return env.Stamp(GetMarkPath(results));
}

Result<std::optional<privacy::AuditReport>> ReadAudit(storage::Env& env, const std::string& results,
                                                      const TrialView& trial) {
  if (!trial.row) return std::optional<privacy::AuditReport>();
  return StoredAudits(env, results).Of(trial.folder, *trial.row);
}

Status MayStoreAudit(storage::Env& env, const std::string& results, const TrialView& trial) {
  const StoredAudits audits(env, results);
  Status read = audits.Beside(trial.folder, *trial.row).status();
  if (read.ok()) read = audits.Of(trial.folder, *trial.row).status();
  if (read.ok()) return read;
  return Status(read.code(),
                RemoveFullStop(read.message()) +
                    ". What it says is not known, and a new audit would take its place: let this user read "
                    "it, bring it back from a copy, or move it away");
}

Result<privacy::AuditReport> StoreAudit(storage::Env& env, const std::string& results, const TrialView& trial,
                                        std::vector<privacy::AuditFinding> findings) {
  RETORT_CHECK(trial.row.has_value());
  RETORT_RETURN_IF_ERROR(MayStoreAudit(env, results, trial));
  privacy::AuditReport report{trial.row->trial, trial.row->row_digest, std::move(findings)};
  RETORT_ASSIGN_OR_RETURN(const std::optional<privacy::AuditReport> stored, ReadAudit(env, results, trial));
  std::vector<privacy::AuditFinding> kept;
  if (stored)
    for (const privacy::AuditFinding& old : stored->findings)
      if (!Replaced(old, report.findings)) kept.push_back(old);
  report.findings.insert(report.findings.end(), kept.begin(), kept.end());
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const privacy::AuditFinding& a, const privacy::AuditFinding& b) { return a.kind < b.kind; });
  const bool refutes = !ListContradictions(report).empty();
  const std::string root = FindResultsRoot(results);
  // Beside the trial it is kept in any case.
  const Status noted = refutes ? NoteRefutation(env, root, report) : Status();
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(results + "/" + trial.folder));
  RETORT_ASSIGN_OR_RETURN(const bool marked, storage::PathExists(env, GetMarkPath(results)));
  if (!marked) RETORT_RETURN_IF_ERROR(env.WriteFileAtomically(GetMarkPath(results), ""));
  if (refutes) RETORT_RETURN_IF_ERROR(NoteRefutation(env, results, report));
  RETORT_RETURN_IF_ERROR(
      env.WriteFileAtomically(GetReportPath(results, trial.folder), privacy::EncodeAuditReport(report) + "\n"));
  RETORT_RETURN_IF_ERROR(env.WriteFileAtomically(GetMarkPath(results), ""));
  RETORT_RETURN_IF_ERROR(noted);
  return report;
}

std::vector<privacy::Claim> ListAuditedClaims(const privacy::AuditReport& report) {
  constexpr double kPrinted = 0.95;
  std::vector<privacy::Claim> claims;
  for (const privacy::AuditFinding& finding : report.findings) {
    if (!finding.claim || finding.kind == privacy::AuditKind::release_step || finding.confidence < kPrinted) continue;
    privacy::Claim claim = *finding.claim;
    claim.lower = std::floor(claim.lower.value_or(0) * 1000) / 1000;
    claim.reason = finding.subject + ": " + privacy::FormatVerdict(finding);
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::vector<std::string> ListContradictions(const privacy::AuditReport& report) {
  std::vector<std::string> sentences;
  for (const privacy::AuditFinding& finding : report.findings)
    if (std::string sentence = privacy::FindContradiction(finding); !sentence.empty())
      sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace retort::orchestrator
