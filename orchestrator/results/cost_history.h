// Computes what the finished trials of a results folder have cost.
#pragma once

#include <string>

#include "orchestrator/core/core.h"
#include "orchestrator/core/cost_model.h"
#include "orchestrator/journal/cost_cache.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator {

// Rows of `machine` (FindMachineKind) and those that name none. Looks at the sizes of their attempt files.
[[nodiscard]] CostModel ComputeCosts(const ResultsView& view, const std::string& machine);
[[nodiscard]] CostModel ComputeCosts(const Core& core, const std::string& machine);
// What the user's cache folder and the results folder know of costs on machines like this one; `view` may be null.
[[nodiscard]] CostModel ReadKnownCosts(const CostCache& cache, const ResultsView* view);

}  // namespace retort::orchestrator
