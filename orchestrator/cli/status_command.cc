#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/known_costs.h"
#include "orchestrator/cli/open_results.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/cli/watch_status.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator::cli {

int StatusCommand(const Invocation& call) {
  const bool json = call.line.global.json;
  if (call.line.watch && !json) return WatchStatus(call);
  const Result<ResultsView> view = OpenPackedResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const RootCharges root = ReadRoot(call.env, *view);
  const double clock = ReadClocks().unix_seconds;
  const SweepStatus status = StatusOf(*view, KnownCosts(OpenCosts(call), &*view), clock, &root);
  call.console.Data(json ? StatusAsJson(status) : StatusAsText(status, clock, call.console.options().width));
  return 0;
}

}  // namespace retort::orchestrator::cli
