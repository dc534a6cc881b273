// What the finished trials of a results folder have cost.
#pragma once

#include <string>

#include "orchestrator/core.h"
#include "orchestrator/cost_model.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator {

// Rows of `machine` (MachineKind) and those that name none. Looks at the sizes of their attempt files.
[[nodiscard]] CostModel CostsOf(const ResultsView& view, const std::string& machine);
[[nodiscard]] CostModel CostsOf(const Core& core, const std::string& machine);

}  // namespace retort::orchestrator
