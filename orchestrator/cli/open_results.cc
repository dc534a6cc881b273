#include "orchestrator/cli/open_results.h"

#include "orchestrator/cli/results_location.h"

namespace retort::orchestrator::cli {

Result<ResultsView> OpenResults(const Invocation& call) {
  RETORT_ASSIGN_OR_RETURN(const FoundResults found, FindResults(call.env, call.line.global.results));
  if (found.chosen) call.console.Message("results: " + found.directory);
  return ReadResults(call.env, found.directory);
}

}  // namespace retort::orchestrator::cli
