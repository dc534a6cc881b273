#include <algorithm>
#include <optional>
#include <string_view>

#include "cluster/topology.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/known_costs.h"
#include "orchestrator/cli/load_sweep.h"
#include "orchestrator/cli/plan_report.h"
#include "orchestrator/cli/results_location.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/cli/trial_names.h"
#include "orchestrator/environment.h"
#include "orchestrator/refuted_claims.h"
#include "orchestrator/results_view.h"
#include "orchestrator/usable_devices.h"
#include "storage/presence.h"

namespace retort::orchestrator::cli {
namespace {

// Those of the last run, else those that `run` would take here.
int SlotsFor(const Invocation& call, const ResultsView* view) {
  if (view != nullptr && call.line.slots == 0) return SlotsOf(*view);
  const UsableDevices usable =
      FindUsableDevices(call.environment, ProgramDirectory() + "/retort-worker", DeviceProbe::look);
  const cluster::HostTopology host = cluster::DiscoverHost(usable.environment);
  return static_cast<int>(cluster::DevicesOf(host, 0, 1, std::max(call.line.slots, 1)).size());
}

// The claims of a plan are those of its trials if nothing fails; an audit of one that has run may have shown otherwise.
void WarnOfAudits(storage::Env& env, ResultsView& view, SweepPlan& plan) {
  JudgeAudits(env, view);
  for (const TrialView& trial : view.trials)
    for (const std::string& text : AuditWarnings(trial, ShownName(trial.spec))) {
      Diagnostic warning;
      warning.file = plan.file;
      warning.key = "trial";
      warning.message = text;
      plan.warnings.push_back(std::move(warning));
    }
}

}  // namespace

int PlanCommand(const Invocation& call) {
  const CommandLine& line = call.line;
  // What is stored is told apart from what is new by the data's digests: a comparison needs the files.
  LoadedSweep loaded =
      LoadWithData(call.env, {line.sweep, line.overrides, line.global.profile, false, !line.diff});
  if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
  loaded.plan->warnings.insert(loaded.plan->warnings.end(), loaded.absent.begin(), loaded.absent.end());
  const SweepPlan& plan = *loaded.plan;
  const std::string results = ResultsFor(line.global.results, plan.name);
  WarnOfOtherBudgets(call.env, results, *loaded.plan);
  std::optional<ResultsView> view;
  const Result<bool> stored_before = storage::IsThere(call.env, results + "/journal.log");
  if (!stored_before.ok()) return call.console.Fail(stored_before.status());
  if (*stored_before) {
    Result<ResultsView> read = ReadResults(call.env, results);
    if (!read.ok()) return call.console.Fail(read.status());
    view = *std::move(read);
    WarnOfAudits(call.env, *view, *loaded.plan);
  }
  if (!line.global.json)
    for (const Diagnostic& warning : plan.warnings) call.console.Warn(warning);
  const ResultsView* stored = view ? &*view : nullptr;
  const PlanReport report =
      ReportPlan(plan, results, stored, KnownCosts(OpenCosts(call), stored), SlotsFor(call, stored));
  if (line.global.json)
    WritePlanAsJson(report, [&call](std::string_view text) { call.console.Data(text); });
  else if (line.diff)
    call.console.Text(PlanDiffAsText(report));
  else
    call.console.Text(PlanAsText(report, call.console.options().width));
  return 0;
}

}  // namespace retort::orchestrator::cli
