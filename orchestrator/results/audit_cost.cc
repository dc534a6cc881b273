#include "orchestrator/results/audit_cost.h"

#include "experiments/methods/methods.h"

namespace retort::orchestrator {

bool HasShadows(const TrialSpec& spec, const TrialSpec* teacher) {
  const TrialKind kind = FindKind(spec);
  if (IsEnsemble(kind) || IsLoaded(kind) || IsSleeper(kind)) return false;
  return teacher == nullptr || !IsLoaded(FindKind(*teacher));
}

AuditCost EstimateShadows(const CostModel& costs, const std::vector<ShadowedTrial>& trials, std::int64_t shadows) {
  AuditCost cost;
  cost.shadows = shadows;
  for (const ShadowedTrial& trial : trials) {
    if (!HasShadows(*trial.spec, trial.teacher)) continue;
    ++cost.trials;
    const std::optional<CostEstimate> own = costs.For(*trial.spec, trial.teacher);
    const std::optional<CostEstimate> teacher =
        trial.teacher == nullptr ? std::optional(CostEstimate()) : costs.For(*trial.teacher, nullptr);
    if (own && teacher)
      cost.seconds += static_cast<double>(shadows) * (own->seconds + teacher->seconds);
    else
      ++cost.unknown;
  }
  return cost;
}

}  // namespace retort::orchestrator
