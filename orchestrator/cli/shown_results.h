// What tables and figures show of a results folder.
#pragma once

#include <string>

#include "orchestrator/results_view.h"
#include "storage/env.h"

namespace retort::orchestrator::cli {

// As it is stored; an empty view where nothing is yet. Error: as ReadResults.
[[nodiscard]] Result<ResultsView> ReadStoredResults(storage::Env& env, const std::string& results,
                                                    Plans plans);

// The same for people: claims that audits refute are withdrawn, and what audits found stands among the claims of its trial.
[[nodiscard]] Result<ResultsView> ReadShownResults(storage::Env& env, const std::string& results,
                                                   Plans plans);

// Gives every row the metric `name` that it lacks, where it is a timing of the row ("step_seconds") or a figure of an
// audit of the trial ("audit.membership.auc": the first finding of that kind that ran and has it).
void AddMetric(storage::Env& env, const std::string& name, ResultsView& view);

}  // namespace retort::orchestrator::cli
