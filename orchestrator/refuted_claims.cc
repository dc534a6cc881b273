#include "orchestrator/refuted_claims.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "experiments/privacy/withdrawn_claim.h"
#include "orchestrator/audit_store.h"
#include "orchestrator/charge_book.h"

namespace retort::orchestrator {
namespace {

std::vector<std::string> RefutedIn(storage::Env& env, const std::string& results, const ShownRow& shown) {
  const Result<std::optional<privacy::AuditReport>> audit = ReadAudit(env, results, shown.folder, *shown.row);
  if (!audit.ok() || !audit->has_value()) return {};
  return Contradictions(**audit);
}

void Withdraw(std::vector<privacy::Claim>& claims) {
  for (privacy::Claim& claim : claims) {
    if (claim.status == privacy::ClaimStatus::proven)
      claim = privacy::Withdrawn(std::move(claim), std::string(privacy::kVoidRefuted));
  }
}

// One that cannot be read stays packed: `retort verify` names it.
void OpenRows(std::vector<TrialView>& trials) {
  for (TrialView& trial : trials) {
    if (trial.row || !trial.packed) continue;
    if (Result<storage::ResultRow> row = RowOf(trial); row.ok()) trial.row = *std::move(row);
  }
}

bool AnyAuditOf(storage::Env& env, const std::string& results, const std::vector<TrialView>& trials) {
  return std::any_of(trials.begin(), trials.end(), [&](const TrialView& trial) {
    return HasRow(trial) && HasAudit(env, results, trial.folder);
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

// What is left to claim for a student of a refuted teacher.
void ClaimAgain(const ChargeBook& charges, const RowsById& by_id, ShownRow& shown) {
  std::vector<privacy::Claim> left =
      privacy::ClaimsFor(ContextOf(shown, by_id), charges.EventsOf(shown.spec->id));
  if (!shown.refuted.empty()) Withdraw(left);
  shown.refuted_teacher = left != shown.row->claims;
  shown.row->claims = std::move(left);
}

}  // namespace

bool AnyAudit(storage::Env& env, const ResultsView& view) {
  return AnyAuditOf(env, view.directory, view.trials) || AnyAuditOf(env, view.directory, view.unplanned);
}

std::set<TrialId> RefutedTrials(storage::Env& env, const Core& core) {
  std::set<TrialId> refuted;
  for (std::size_t index = 0; index < core.known(); ++index) {
    const Trial& trial = core.At(index);
    if (!trial.row || !HasAudit(env, core.settings().results, trial.folder)) continue;
    storage::ResultRow row = *trial.row;
    const ShownRow shown{&trial.spec, trial.folder, &row, {}, false};
    if (!RefutedIn(env, core.settings().results, shown).empty()) refuted.insert(trial.spec.id);
  }
  return refuted;
}

void WithdrawRefuted(storage::Env& env, const std::string& results,
                     const std::vector<storage::LedgerEntry>& ledger, std::vector<ShownRow>& rows) {
  RowsById by_id;
  std::set<TrialId> refuted;
  for (ShownRow& shown : rows) {
    by_id.emplace(shown.spec->id, &shown);
    shown.refuted = RefutedIn(env, results, shown);
    if (shown.refuted.empty()) continue;
    Withdraw(shown.row->claims);
    refuted.insert(shown.spec->id);
  }
  ChargeBook charges;
  charges.Load(ledger);
  for (ShownRow& shown : rows)
    if (shown.spec->parent && refuted.contains(*shown.spec->parent)) ClaimAgain(charges, by_id, shown);
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
      rows.push_back({&trial.spec, trial.folder, &*trial.row, {}, false});
      trials.push_back(&trial);
    }
  }
  if (rows.empty()) return;
  WithdrawRefuted(env, view.directory, view.ledger, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    trials[i]->refuted = std::move(rows[i].refuted);
    trials[i]->refuted_teacher = rows[i].refuted_teacher;
  }
}

}  // namespace retort::orchestrator
