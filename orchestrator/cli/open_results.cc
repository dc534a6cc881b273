#include "orchestrator/cli/open_results.h"

#include "orchestrator/cli/results_location.h"
#include "orchestrator/refuted_claims.h"

namespace retort::orchestrator::cli {

Result<ResultsView> OpenResults(const Invocation& call) {
  RETORT_ASSIGN_OR_RETURN(const FoundResults found, FindResults(call.env, call.line.global.results));
  if (found.chosen) call.console.Message("results: " + found.directory);
  return ReadResults(call.env, found.directory);
}

Result<ResultsView> OpenShownResults(const Invocation& call) {
  Result<ResultsView> view = OpenResults(call);
  if (view.ok()) WithdrawRefuted(call.env, *view);
  return view;
}

}  // namespace retort::orchestrator::cli
