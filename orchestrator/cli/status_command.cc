#include <optional>

#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/known_costs.h"
#include "orchestrator/cli/open_results.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/cli/sweep_summary.h"
#include "orchestrator/cli/version.h"
#include "orchestrator/cli/watch_status.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator::cli {
namespace {

void Print(const Invocation& call, const SweepStatus& status, double clock) {
  call.console.Text(call.line.global.json ? StatusAsJson(status)
                                          : StatusAsText(status, clock, call.console.options().width));
}

bool IsAlone(const RootCharges& root) {
  return root.sweeps.empty() && root.trouble.empty() && root.copies.empty() && root.uncounted.empty();
}

// Of a sweep whose summary is kept. False: its trials have to be read, or those of others, which have charged the same
// data.
bool PrintSummarised(const Invocation& call, const std::string& results, const std::string& sources,
                     const CostModel& costs) {
  std::optional<SweepSummary> summary = ReadSummary(call.env, results, sources, VersionText());
  if (!summary) return false;
  const RootCharges root =
      ReadRoot(call.env, results, summary->digests, summary->view.unpacked, {}, summary->view.noted_root);
  if (!IsAlone(root)) return false;
  for (DataSpending& spent : summary->trials.spending) spent.root = root.directory;
  const double clock = ReadClocks().unix_seconds;
  Print(call, StatusFrom(summary->view, std::move(summary->trials), costs, clock), clock);
  return true;
}

}  // namespace

int StatusCommand(const Invocation& call) {
  if (call.line.watch) return WatchStatus(call);
  const Result<std::string> results = LocateResults(call);
  if (!results.ok()) return call.console.Fail(results.status());
  const CostCache cache = OpenCosts(call);
  const std::optional<std::string> sources = SummarySources(call.env, *results, cache);
  if (sources && PrintSummarised(call, *results, *sources, cache.costs)) return 0;
  const Result<ResultsView> view = OpenPackedResults(call, *results);
  if (!view.ok()) return call.console.Fail(view.status());
  const RootCharges root = ReadRoot(call.env, *view);
  const double clock = ReadClocks().unix_seconds;
  const CostModel costs = KnownCosts(cache, &*view);
  const TrialsStatus trials = TrialsStatusOf(*view, costs, clock, &root);
  Print(call, StatusFrom(*view, trials, costs, clock), clock);
  // Where it cannot be written, the next one reads the journal too.
  if (sources && IsAlone(root)) (void)KeepSummary(call.env, *sources, *view, trials, VersionText());
  return 0;
}

}  // namespace retort::orchestrator::cli
