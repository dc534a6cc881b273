#include <filesystem>
#include <string_view>
#include <system_error>

#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/load_sweep.h"
#include "orchestrator/cli/plan_report.h"
#include "orchestrator/cli/results_location.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {
namespace {

std::optional<std::uint64_t> SizeOf(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(bytes);
}

}  // namespace

int PlanCommand(const Invocation& call) {
  const CommandLine& line = call.line;
  const LoadedSweep loaded = LoadWithData(call.env, {line.sweep, line.overrides, line.global.profile});
  if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
  const SweepPlan& plan = *loaded.plan;
  const std::string results = ResultsFor(line.global.results, plan.name);
  std::optional<ResultsView> view;
  if (call.env.Exists(results + "/journal.log")) {
    Result<ResultsView> read = ReadResults(call.env, results);
    if (!read.ok()) return call.console.Fail(read.status());
    view = *std::move(read);
  }
  if (!line.global.json)
    for (const Diagnostic& warning : plan.warnings) call.console.Warn(warning);
  const std::size_t claimed = line.global.json ? plan.trials.size() : line.diff ? 0 : kListedTrials;
  const FileSize file_size = [&results](const std::string& path) { return SizeOf(results + "/" + path); };
  const PlanReport report = ReportPlan(plan, results, view ? &*view : nullptr, claimed, file_size);
  if (line.global.json)
    WritePlanAsJson(report, [&call](std::string_view text) { call.console.Data(text); });
  else if (line.diff)
    call.console.Data(PlanDiffAsText(report));
  else
    call.console.Data(PlanAsText(report, call.console.options().width));
  return 0;
}

}  // namespace retort::orchestrator::cli
