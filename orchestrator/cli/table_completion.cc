#include "orchestrator/cli/table_completion.h"

#include <unordered_map>
#include <unordered_set>

#include "orchestrator/cli/table_trials.h"

namespace retort::orchestrator::cli {
namespace {

using ViewsById = std::unordered_map<TrialId, const TrialView*>;

bool Ended(const ViewsById& views, TrialId id) {
  const auto found = views.find(id);
  return found != views.end() && IsFinal(found->second->state) && found->second->failure != FailureKind::disk;
}

bool Succeeded(const ViewsById& views, TrialId id) {
  const auto found = views.find(id);
  return found != views.end() && found->second->state == TrialState::succeeded;
}

}  // namespace

Completion CompletionOf(const SweepPlan& plan, const std::vector<TableSpec>& tables, const ResultsView& view) {
  ViewsById views;
  for (const TrialView& trial : view.trials) views.emplace(trial.spec.id, &trial);
  Completion completion;
  std::unordered_set<TrialId> seen, needed;
  for (const TableSpec& table : tables) {
    for (const TrialSpec* spec : StudentsOf(plan, table)) {
      if (!seen.insert(spec->id).second || Succeeded(views, spec->id)) continue;
      if (Ended(views, spec->id)) {
        ++completion.failed;
        continue;
      }
      ++completion.missing;
      needed.insert(spec->id);
      if (spec->parent) needed.insert(*spec->parent);
    }
  }
  completion.plan = plan;
  std::erase_if(completion.plan.trials,
                [&](const TrialSpec& spec) { return !needed.contains(spec.id) && !Ended(views, spec.id); });
  return completion;
}

}  // namespace retort::orchestrator::cli
