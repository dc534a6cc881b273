#include "orchestrator/costing_entries.h"

#include <unordered_map>

#include "experiments/spec/trial_kind.h"

namespace retort::orchestrator {

std::vector<storage::LedgerEntry> CostingEntries(const ResultsView& view) {
  std::unordered_map<TrialId, const TrialSpec*> specs;
  for (const TrialView& trial : view.trials) specs.emplace(trial.spec.id, &trial.spec);
  const auto find = [&specs](TrialId id) {
    const auto found = specs.find(id);
    return found == specs.end() ? nullptr : found->second;
  };
  const auto costs = [&](TrialId id) {
    const TrialSpec* student = find(id);
    if (student == nullptr || !IsPostProcessing(KindOf(*student)) || !student->parent) return true;
    const TrialSpec* teacher = find(*student->parent);
    return teacher == nullptr || KindOf(*teacher) != TrialKind::dpsgd_teacher ||
           student->source == QuerySource::private_split;
  };
  std::unordered_map<TrialId, bool> known;
  std::vector<storage::LedgerEntry> entries;
  for (const storage::LedgerEntry& entry : view.ledger) {
    const auto [found, fresh] = known.try_emplace(entry.attempt.trial, true);
    if (fresh) found->second = costs(entry.attempt.trial);
    if (found->second) entries.push_back(entry);
  }
  return entries;
}

}  // namespace retort::orchestrator
