// The results folder a reading command means, read.
#pragma once

#include <string>

#include "experiments/spec/status.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

// --results, else the newest below results/; says on stderr which it took unless the user named it.
[[nodiscard]] Result<ResultsView> OpenResults(const Invocation& call);

// The same as people are to see it: without claims that audits refute (refuted_claims.h).
[[nodiscard]] Result<ResultsView> OpenShownResults(const Invocation& call);

// The folder alone, for who does not always read it.
[[nodiscard]] Result<std::string> LocateResults(const Invocation& call);
// As people are to see it, with rows left packed (results_view.h).
[[nodiscard]] Result<ResultsView> OpenPackedResults(const Invocation& call, const std::string& directory);

}  // namespace retort::orchestrator::cli
