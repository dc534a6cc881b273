// Which devices a queued trial waits for, and who has them, in sentences.
#pragma once

#include "orchestrator/cli/explanation.h"
#include "orchestrator/cost_model.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

// `view` is of a run that goes on.
void ExplainDevices(const ResultsView& view, const TrialView& trial, double now_unix_seconds,
                    const CostModel& costs, Explanation& out);

}  // namespace retort::orchestrator::cli
