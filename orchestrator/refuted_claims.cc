#include "orchestrator/refuted_claims.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "experiments/privacy/reasons.h"
#include "experiments/privacy/withdrawn_claim.h"
#include "orchestrator/audit_store.h"
#include "orchestrator/charge_book.h"

namespace retort::orchestrator {
namespace {

// Fills what audits say of one row.
void Judge(const StoredAudits& audits, ShownRow& shown) {
  const Result<std::optional<privacy::AuditReport>> audit = audits.Of(shown.folder, *shown.row);
  if (!audit.ok())
    shown.audit_unknown = WithoutStop(audit.status().message());
  else if (audit->has_value())
    shown.refuted = Contradictions(**audit);
}

// Of a row that was judged; empty where audits leave it its claims.
std::string_view VoidOf(const ShownRow& shown) {
  if (!shown.refuted.empty()) return privacy::kVoidRefuted;
  return shown.audit_unknown.empty() ? std::string_view() : privacy::reason::kAuditUnknown;
}

void Withdraw(std::string_view reason, std::vector<privacy::Claim>& claims) {
  for (privacy::Claim& claim : claims) {
    if (claim.status == privacy::ClaimStatus::proven) claim = privacy::Withdrawn(std::move(claim), std::string(reason));
  }
}

// One that cannot be read stays packed: `retort verify` names it.
void OpenRows(std::vector<TrialView>& trials) {
  for (TrialView& trial : trials) {
    if (trial.row || !trial.packed) continue;
    if (Result<storage::ResultRow> row = RowOf(trial); row.ok()) trial.row = *std::move(row);
  }
}

bool AnyAuditOf(const StoredAudits& audits, const std::vector<TrialView>& trials) {
  return std::any_of(trials.begin(), trials.end(), [&](const TrialView& trial) {
    return HasRow(trial) && audits.MayKnow(trial.spec.id.Hex(), trial.folder);
  });
}

using RowsById = std::unordered_map<TrialId, const ShownRow*>;

// Of its teacher's claims as they are shown by now.
privacy::ClaimContext ContextOf(const ShownRow& shown, const RowsById& rows) {
  privacy::ClaimContext context;
  context.spec = shown.spec;
  const auto teacher = shown.spec->parent ? rows.find(*shown.spec->parent) : rows.end();
  if (teacher != rows.end()) context.teacher_claims = teacher->second->row->claims;
  return context;
}

// Teachers before students.
void WithdrawUnsupported(const ChargeBook& charges, const RowsById& by_id, std::vector<ShownRow>& rows) {
  for (const bool students : {false, true})
    for (ShownRow& shown : rows)
      if (shown.spec->parent.has_value() == students)
        privacy::WithdrawUnsupported(ContextOf(shown, by_id), charges.EventsOf(shown.spec->id), shown.row->claims);
}

// What is left to claim for a student of a teacher whose claims were withdrawn.
void ClaimAgain(const ChargeBook& charges, const RowsById& by_id, bool teacher_refuted, ShownRow& shown) {
  std::vector<privacy::Claim> left =
      privacy::ClaimsFor(ContextOf(shown, by_id), charges.EventsOf(shown.spec->id));
  if (const std::string_view own = VoidOf(shown); !own.empty()) Withdraw(own, left);
  (teacher_refuted ? shown.refuted_teacher : shown.unknown_teacher_audit) = left != shown.row->claims;
  shown.row->claims = std::move(left);
}

}  // namespace

void JudgeAudits(storage::Env& env, ResultsView& view) {
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

bool AnyAudit(storage::Env& env, const ResultsView& view) {
  const StoredAudits audits(env, view.directory);
  return AnyAuditOf(audits, view.trials) || AnyAuditOf(audits, view.unplanned);
}

std::map<TrialId, std::string> AuditVoids(storage::Env& env, const Core& core) {
  std::map<TrialId, std::string> voids;
  const StoredAudits audits(env, core.settings().results);
  for (std::size_t index = 0; index < core.known(); ++index) {
    const Trial& trial = core.At(index);
    if (!trial.row || !audits.MayKnow(trial.spec.id.Hex(), trial.folder)) continue;
    storage::ResultRow row = *trial.row;
    ShownRow shown{&trial.spec, trial.folder, &row};
    Judge(audits, shown);
    if (const std::string_view reason = VoidOf(shown); !reason.empty()) voids[trial.spec.id] = reason;
  }
  return voids;
}

void WithdrawRefuted(storage::Env& env, const std::string& results,
                     const std::vector<storage::LedgerEntry>& ledger, std::vector<ShownRow>& rows) {
  RowsById by_id;
  std::map<TrialId, bool> withdrawn;  // and whether something is refuted
  const StoredAudits audits(env, results);
  for (ShownRow& shown : rows) {
    by_id.emplace(shown.spec->id, &shown);
    Judge(audits, shown);
    const std::string_view reason = VoidOf(shown);
    if (reason.empty()) continue;
    Withdraw(reason, shown.row->claims);
    withdrawn[shown.spec->id] = !shown.refuted.empty();
  }
  ChargeBook charges;
  charges.Load(ledger);
  for (ShownRow& shown : rows) {
    const auto teacher = shown.spec->parent ? withdrawn.find(*shown.spec->parent) : withdrawn.end();
    if (teacher != withdrawn.end()) ClaimAgain(charges, by_id, teacher->second, shown);
  }
  WithdrawUnsupported(charges, by_id, rows);
}

void WithdrawRefuted(storage::Env& env, ResultsView& view) {
  const bool audited = AnyAudit(env, view);  // else no packed row needs to be opened
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

}  // namespace retort::orchestrator
