#include "orchestrator/results/refuted_claims.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/claims.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/synthetic_store.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

// Fills what audits say of one row.
void Judge(const StoredAudits& audits, ShownRow& shown) {
  const Result<std::optional<privacy::AuditReport>> audit = audits.Of(shown.folder, *shown.row);
  if (!audit.ok())
    shown.audit_unknown = RemoveFullStop(audit.status().message());
  else if (audit->has_value())
    shown.refuted = ListContradictions(**audit);
}

// Of a row that was judged; empty where audits leave it its claims.
std::string_view FindVoid(const ShownRow& shown) {
  if (!shown.refuted.empty()) return privacy::kVoidRefuted;
  return shown.audit_unknown.empty() ? std::string_view() : privacy::reason::kAuditUnknown;
}

void Withdraw(std::string_view reason, std::vector<privacy::Claim>& claims) {
  for (privacy::Claim& claim : claims) {
    if (claim.status == privacy::ClaimStatus::proven)
      claim = privacy::WithdrawClaim(std::move(claim), std::string(reason));
  }
}

// One that cannot be read stays packed: `retort verify` names it.
void OpenRows(std::vector<TrialView>& trials) {
  for (TrialView& trial : trials) {
    if (trial.row || !trial.packed) continue;
    if (Result<storage::ResultRow> row = ReadRow(trial); row.ok()) trial.row = *std::move(row);
  }
}

bool HasAnyAudit(const StoredAudits& audits, const std::vector<TrialView>& trials) {
  return std::any_of(trials.begin(), trials.end(), [&](const TrialView& trial) {
    return HasRow(trial) && audits.MayKnow(trial.spec.id.Hex(), trial.folder);
  });
}

using RowsById = std::unordered_map<TrialId, const ShownRow*>;

// Of its teacher's claims as they are shown by now.
privacy::ClaimContext MakeShownContext(const ShownRow& shown, const RowsById& rows) {
  privacy::ClaimContext context;
  context.spec = shown.spec;
  const auto teacher = shown.spec->parent ? rows.find(*shown.spec->parent) : rows.end();
  if (teacher != rows.end()) context.teacher_claims = teacher->second->row->claims;
  return context;
}

// Teachers before students.
void WithdrawUnsupportedClaims(const PrivacyCharges& charges, const RowsById& by_id, std::vector<ShownRow>& rows) {
  for (const bool students : {false, true})
    for (ShownRow& shown : rows)
      if (shown.spec->parent.has_value() == students)
        privacy::WithdrawUnsupportedClaims(MakeShownContext(shown, by_id), charges.CollectEvents(shown.spec->id),
                                           shown.row->claims);
}

// What is left to claim for a student of a teacher whose claims were withdrawn.
void ClaimAgain(const PrivacyCharges& charges, const RowsById& by_id, bool teacher_refuted, ShownRow& shown) {
  std::vector<privacy::Claim> left =
      privacy::ComputeClaims(MakeShownContext(shown, by_id), charges.CollectEvents(shown.spec->id));
  if (const std::string_view own = FindVoid(shown); !own.empty()) Withdraw(own, left);
  (teacher_refuted ? shown.refuted_teacher : shown.unknown_teacher_audit) = left != shown.row->claims;
  shown.row->claims = std::move(left);
}

}  // namespace

void MarkRefuted(storage::Env& env, ResultsView& view) {
  const StoredAudits audits(env, view.directory);
  for (TrialView& trial : view.trials) {
    if (!trial.row || !audits.MayKnow(trial.spec.id.Hex(), trial.folder)) continue;
    ShownRow shown{&trial.spec, trial.folder, &*trial.row};
    Judge(audits, shown);
    trial.refuted = std::move(shown.refuted);
    trial.audit_unknown = std::move(shown.audit_unknown);
  }
}

std::vector<std::string> AuditWarnings(const TrialView& trial, const std::string& name) {
  const std::string nothing = ". Nothing is claimed of it here, nor of what rests on it.";
  std::vector<std::string> warnings;
  for (const std::string& what : trial.refuted)
    warnings.push_back("a proven claim of " + name + " is refuted by " + what + nothing);
  if (!trial.audit_unknown.empty())
    warnings.push_back("nobody can say what audits found of " + name + ": " + trial.audit_unknown + nothing);
  return warnings;
}

bool HasAudits(storage::Env& env, const ResultsView& view) {
  const StoredAudits audits(env, view.directory);
  return HasAnyAudit(audits, view.trials) || HasAnyAudit(audits, view.unplanned);
}

std::map<TrialId, std::string> FindAuditVoids(storage::Env& env, const Core& core) {
  std::map<TrialId, std::string> voids;
  const StoredAudits audits(env, core.settings().results);
  for (std::size_t index = 0; index < core.known(); ++index) {
    const Trial& trial = core.At(index);
    if (!trial.row || !audits.MayKnow(trial.spec.id.Hex(), trial.folder)) continue;
    storage::ResultRow row = *trial.row;
    ShownRow shown{&trial.spec, trial.folder, &row};
    Judge(audits, shown);
    if (const std::string_view reason = FindVoid(shown); !reason.empty()) voids[trial.spec.id] = reason;
  }
  return voids;
}

void WithdrawRefuted(storage::Env& env, const std::string& results, const std::vector<storage::LedgerEntry>& ledger,
                     std::vector<ShownRow>& rows) {
  RowsById by_id;
  std::map<TrialId, bool> withdrawn;  // and whether something is refuted
  const StoredAudits audits(env, results);
  for (ShownRow& shown : rows) {
    by_id.emplace(shown.spec->id, &shown);
    Judge(audits, shown);
    const std::string_view reason = FindVoid(shown);
    if (reason.empty()) continue;
    Withdraw(reason, shown.row->claims);
    withdrawn[shown.spec->id] = !shown.refuted.empty();
  }
  PrivacyCharges charges;
  charges.Load(ledger);
  for (ShownRow& shown : rows) {
    const auto teacher = shown.spec->parent ? withdrawn.find(*shown.spec->parent) : withdrawn.end();
    if (teacher != withdrawn.end()) ClaimAgain(charges, by_id, teacher->second, shown);
  }
  WithdrawUnsupportedClaims(charges, by_id, rows);
}

void WithdrawRefuted(storage::Env& env, ResultsView& view) {
  const bool audited = HasAudits(env, view);  // else no packed row needs to be opened
  std::vector<ShownRow> rows;
  std::vector<TrialView*> trials;
  for (std::vector<TrialView>* some : {&view.trials, &view.unplanned}) {
    if (audited) OpenRows(*some);
    for (TrialView& trial : *some) {
      if (!trial.row) continue;
      rows.push_back({&trial.spec, trial.folder, &*trial.row});
      trials.push_back(&trial);
    }
  }
  if (rows.empty()) return;
  WithdrawRefuted(env, view.directory, view.ledger, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    trials[i]->refuted = std::move(rows[i].refuted);
    trials[i]->refuted_teacher = rows[i].refuted_teacher;
    trials[i]->audit_unknown = std::move(rows[i].audit_unknown);
    trials[i]->unknown_teacher_audit = rows[i].unknown_teacher_audit;
  }
}

namespace {

using Values = std::vector<std::pair<std::string, double>>;

std::optional<double> Find(const Values& values, std::string_view name) {
  for (const auto& [known, value] : values)
    if (known == name) return value;
  return std::nullopt;
}

// What cannot be read is TrialView::audit_unknown.
std::optional<privacy::AuditReport> FindAudit(const StoredAudits& audits, const TrialView& trial) {
  if (!trial.row) return std::nullopt;
  const Result<std::optional<privacy::AuditReport>> audit = audits.Of(trial.folder, *trial.row);
  return audit.ok() ? *audit : std::nullopt;
}

std::optional<double> AuditFigure(const privacy::AuditReport& report, std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  for (const privacy::AuditFinding& finding : report.findings) {
    if (!finding.ran || AuditKindName(finding.kind) != name.substr(0, dot)) continue;
    if (const auto value = Find(finding.figures, name.substr(dot + 1))) return value;
  }
  return std::nullopt;
}

std::optional<double> SyntheticFigure(storage::Env& env, const ResultsView& view, const TrialView& trial,
                                      std::string_view name) {
  const Result<std::optional<SyntheticResult>> result = ReadSynthetic(env, view.directory, trial);
  return result.ok() && result->has_value() ? FindSynthetic(**result, name) : std::nullopt;
}

}  // namespace

Result<ResultsView> ReadStoredResults(storage::Env& env, const std::string& results, Plans plans) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, results + "/journal.log"));
  if (there) return ReadResults(env, results, plans);
  ResultsView empty;
  empty.directory = results;
  return empty;
}

Result<ResultsView> ReadShownResults(storage::Env& env, const std::string& results, Plans plans) {
  RETORT_ASSIGN_OR_RETURN(ResultsView view, ReadStoredResults(env, results, plans));
  WithdrawRefuted(env, view);
  const StoredAudits audits(env, view.directory);
  for (TrialView& trial : view.trials) {
    const std::optional<privacy::AuditReport> audit = FindAudit(audits, trial);
    if (!audit) continue;
    const std::vector<privacy::Claim> claims = ListAuditedClaims(*audit);
    trial.row->claims.insert(trial.row->claims.end(), claims.begin(), claims.end());
  }
  return view;
}

void AddMetric(storage::Env& env, const std::string& name, ResultsView& view) {
  constexpr std::string_view kAudit = "audit.";
  const StoredAudits audits(env, view.directory);
  for (TrialView& trial : view.trials) {
    if (!trial.row || Find(trial.row->metrics, name)) continue;
    std::optional<double> value = Find(trial.row->timings, name);
    if (!value && name.starts_with(kAudit))
      if (const auto audit = FindAudit(audits, trial)) value = AuditFigure(*audit, name.substr(kAudit.size()));
    if (IsSynthetic(name)) value = SyntheticFigure(env, view, trial, name);
    if (value) trial.row->metrics.emplace_back(name, *value);
  }
}

}  // namespace retort::orchestrator
