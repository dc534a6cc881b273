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
void OpenRows(ResultsView& view) {
  for (TrialView& trial : view.trials) {
    if (trial.row || !trial.packed) continue;
    if (Result<storage::ResultRow> row = RowOf(trial); row.ok()) trial.row = *std::move(row);
  }
}

}  // namespace

bool AnyAudit(storage::Env& env, const ResultsView& view) {
  return std::any_of(view.trials.begin(), view.trials.end(), [&](const TrialView& trial) {
    return HasRow(trial) && HasAudit(env, view.directory, trial.folder);
  });
}

void WithdrawRefuted(storage::Env& env, const std::string& results,
                     const std::vector<storage::LedgerEntry>& ledger, std::vector<ShownRow>& rows) {
  std::unordered_map<TrialId, const ShownRow*> refuted;
  for (ShownRow& shown : rows) {
    shown.refuted = RefutedIn(env, results, shown);
    if (shown.refuted.empty()) continue;
    Withdraw(shown.row->claims);
    refuted.emplace(shown.spec->id, &shown);
  }
  if (refuted.empty()) return;
  ChargeBook charges;
  charges.Load(ledger);
  for (ShownRow& shown : rows) {
    const auto teacher = shown.spec->parent ? refuted.find(*shown.spec->parent) : refuted.end();
    if (teacher == refuted.end()) continue;
    std::vector<privacy::Claim> left = privacy::ClaimsFor({shown.spec, teacher->second->row->claims},
                                                          charges.EventsOf(shown.spec->id));
    if (!shown.refuted.empty()) Withdraw(left);
    shown.refuted_teacher = left != shown.row->claims;
    shown.row->claims = std::move(left);
  }
}

void WithdrawRefuted(storage::Env& env, ResultsView& view) {
  if (!AnyAudit(env, view)) return;  // no packed row needs to be opened
  OpenRows(view);
  std::vector<ShownRow> rows;
  std::vector<TrialView*> trials;
  for (TrialView& trial : view.trials) {
    if (!trial.row) continue;
    rows.push_back({&trial.spec, trial.folder, &*trial.row, {}, false});
    trials.push_back(&trial);
  }
  WithdrawRefuted(env, view.directory, view.ledger, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    trials[i]->refuted = std::move(rows[i].refuted);
    trials[i]->refuted_teacher = rows[i].refuted_teacher;
  }
}

}  // namespace retort::orchestrator
