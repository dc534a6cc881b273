#include "orchestrator/cli/open_results.h"

#include <utility>

#include "orchestrator/cli/results_location.h"
#include "orchestrator/refuted_claims.h"

namespace retort::orchestrator::cli {

namespace {

Result<ResultsView> Shown(const Invocation& call, Result<ResultsView> view) {
  if (view.ok()) WithdrawRefuted(call.env, *view);
  return view;
}

}  // namespace

Result<std::string> LocateResults(const Invocation& call) {
  RETORT_ASSIGN_OR_RETURN(FoundResults found, FindResults(call.env, call.line.global.results));
  if (found.chosen) call.console.Message("results: " + found.directory);
  return std::move(found.directory);
}

Result<ResultsView> OpenResults(const Invocation& call) {
  RETORT_ASSIGN_OR_RETURN(const std::string directory, LocateResults(call));
  return ReadResults(call.env, directory);
}

Result<ResultsView> OpenShownResults(const Invocation& call) { return Shown(call, OpenResults(call)); }

Result<ResultsView> OpenPackedResults(const Invocation& call, const std::string& directory) {
  return Shown(call, ReadPacked(call.env, directory));
}

}  // namespace retort::orchestrator::cli
