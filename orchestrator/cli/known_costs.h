// What is known of costs on machines like this one.
#pragma once

#include "orchestrator/cli/commands.h"
#include "orchestrator/cost_cache.h"
#include "orchestrator/cost_model.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

// Warns on stderr of a file that cannot be read.
[[nodiscard]] CostCache OpenCosts(const Invocation& call);
// From the user's cache folder and from the results folder; `view` may be null.
[[nodiscard]] CostModel KnownCosts(const CostCache& cache, const ResultsView* view);

}  // namespace retort::orchestrator::cli
