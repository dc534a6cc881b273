#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>

#include "cluster/host.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/run_command.h"
#include "orchestrator/cli/render/plan_text.h"
#include "orchestrator/cli/shell/command_tree.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/plan_report.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/trial_names.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator::cli {
namespace {

// Those of the last run, else those that `run` would take here.
int SlotsFor(const Invocation& call, const ResultsView* view) {
  if (view != nullptr && call.line.slots == 0 && call.line.oversubscribe_gpu == 1) return CountSlots(*view);
  const UsableDevices usable =
      FindUsableDevices(call.environment, FindWorkerProgram(ReadRunOptions(call)), DeviceProbe::look);
  const cluster::HostTopology host = cluster::DiscoverHost(usable.environment);
  return static_cast<int>(
      cluster::AssignDevices(host, 0, 1, std::max(call.line.slots, 1), call.line.oversubscribe_gpu).size());
}

// The claims of a plan are those of its trials if nothing fails; an audit of one that has run may have shown otherwise.
void WarnOfAudits(storage::Env& env, ResultsView& view, SweepPlan& plan) {
  MarkRefuted(env, view);
  for (const TrialView& trial : view.trials)
    for (const std::string& text : AuditWarnings(trial, FormatTrialName(trial.spec))) {
      Diagnostic warning;
      warning.file = plan.file;
      warning.key = "trial";
      warning.message = text;
      plan.warnings.push_back(std::move(warning));
    }
}

}  // namespace

void AddPlan(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* plan = AddCommand(app, "plan", "Show what would run: trials, devices, cost, epsilon, data");
  AddSweep(*plan, words, kOverrideWords, kOverridesHelp);
  plan->add_flag("--diff", line.diff, "Compare with what the results folder already holds");
  plan->add_option("--slots", line.slots, "Workers at once that the time is for (default: as the last run, else 1)")
      ->check(CLI::Range(1, 4096));
  AddOversubscription(*plan, line);
  plan->add_option("--shadows", line.audit.shadows,
                   "Also say what `retort audit` takes that trains so many shadows of each trial")
      ->check(CLI::Range(2, 4096));
}

int ExecutePlan(const Invocation& call) {
  const CommandLine& line = call.line;
  // What is stored is told apart from what is new by the data's digests: a comparison needs the files.
  LoadedSweep loaded =
      LoadWithData(call.env, {line.sweep, line.overrides, line.global.profile, false, !line.diff, line.global.results});
  if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
  loaded.plan->warnings.insert(loaded.plan->warnings.end(), loaded.absent.begin(), loaded.absent.end());
  const SweepPlan& plan = *loaded.plan;
  const std::string results = FindResultsPath(line.global.results, plan.name);
  AddBudgetWarnings(call.env, results, *loaded.plan);
  std::optional<ResultsView> view;
  const Result<bool> stored_before = storage::PathExists(call.env, results + "/journal.log");
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
  PlanReport report =
      MakePlanReport(plan, results, stored, ReadKnownCosts(OpenCosts(call), stored), SlotsFor(call, stored));
  if (line.audit.shadows > 0) report.audit = EstimateAudit(report, line.audit.shadows);
  if (line.global.json)
    WritePlanAsJson(report, [&call](std::string_view text) { call.console.Data(text); });
  else if (line.diff)
    call.console.Text(PlanDiffAsText(report));
  else
    call.console.Text(PlanAsText(report, call.console.options().width));
  return 0;
}

}  // namespace retort::orchestrator::cli
