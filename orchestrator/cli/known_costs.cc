#include "orchestrator/cli/known_costs.h"

#include "orchestrator/cost_history.h"

namespace retort::orchestrator::cli {

CostCache OpenCosts(const Invocation& call) {
  CostCache cache = OpenCostCache(call.env, call.environment);
  if (!cache.warning.empty()) {
    Diagnostic warning;
    warning.message = cache.warning;
    call.console.Warn(warning);
  }
  return cache;
}

CostModel KnownCosts(const CostCache& cache, const ResultsView* view) {
  CostModel costs = cache.costs;
  if (view != nullptr) costs.Merge(CostsOf(*view, cache.machine));
  return costs;
}

}  // namespace retort::orchestrator::cli
