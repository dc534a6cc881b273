#include "orchestrator/cli/open_results.h"

#include "orchestrator/cli/results_location.h"
#include "orchestrator/refuted_claims.h"

namespace retort::orchestrator::cli {

namespace {

using Reader = Result<ResultsView> (*)(storage::Env& env, const std::string& directory);

Result<ResultsView> OpenWith(const Invocation& call, Reader read) {
  RETORT_ASSIGN_OR_RETURN(const FoundResults found, FindResults(call.env, call.line.global.results));
  if (found.chosen) call.console.Message("results: " + found.directory);
  return read(call.env, found.directory);
}

Result<ResultsView> Shown(const Invocation& call, Result<ResultsView> view) {
  if (view.ok()) WithdrawRefuted(call.env, *view);
  return view;
}

}  // namespace

Result<ResultsView> OpenResults(const Invocation& call) { return OpenWith(call, ReadResults); }

Result<ResultsView> OpenShownResults(const Invocation& call) { return Shown(call, OpenResults(call)); }

Result<ResultsView> OpenPackedResults(const Invocation& call) { return Shown(call, OpenWith(call, ReadPacked)); }

}  // namespace retort::orchestrator::cli
