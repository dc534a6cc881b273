#include "orchestrator/view_charges.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "orchestrator/claim_context.h"

namespace retort::orchestrator {
namespace {

using TrialsById = std::unordered_map<TrialId, const TrialView*>;
using ClaimsById = std::unordered_map<TrialId, std::vector<privacy::Claim>>;

const TrialView* Find(const TrialsById& trials, TrialId id) {
  const auto found = trials.find(id);
  return found == trials.end() ? nullptr : found->second;
}

// None of a row that cannot be read: `retort verify` names it.
std::vector<privacy::Claim> ClaimsIn(const TrialView& trial) {
  if (trial.row) return trial.row->claims;
  if (!trial.packed) return {};
  const Result<storage::ResultRow> row = RowOf(trial);
  return row.ok() ? row->claims : std::vector<privacy::Claim>();
}

}  // namespace

ChargeBook ChargesIn(const ResultsView& view) {
  ChargeBook charges;
  charges.Load(view.ledger);
  return charges;
}

ChargeBook::Counts CountsOf(const ResultsView& view, const ChargeBook& charges) {
  auto trials = std::make_shared<TrialsById>();
  for (const std::vector<TrialView>* some : {&view.trials, &view.unplanned})
    for (const TrialView& trial : *some) trials->emplace(trial.spec.id, &trial);
  auto claims = std::make_shared<ClaimsById>();  // of teachers that were asked about
  return [trials, claims, &charges](TrialId id, ChargeBook::Events events) {
    JudgedTrial judged;
    const TrialView* trial = Find(*trials, id);
    const TrialView* teacher = trial != nullptr && trial->spec.parent ? Find(*trials, *trial->spec.parent) : nullptr;
    if (trial != nullptr) judged.spec = &trial->spec;
    if (trial != nullptr) judged.audit_void = AuditVoidOf(*trial);
    if (teacher != nullptr) {
      const auto [known, fresh] = claims->try_emplace(teacher->spec.id);
      if (fresh) known->second = ClaimsIn(*teacher);
      judged.teacher = &teacher->spec;
      judged.teacher_claims = &known->second;
    }
    return CountedCharges(judged, charges, std::move(events));
  };
}

}  // namespace retort::orchestrator
