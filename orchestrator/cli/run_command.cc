#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/allocation_end.h"
#include "cluster/launch_environment.h"
#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/load_sweep.h"
#include "orchestrator/cli/results_location.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/cli/version.h"
#include "orchestrator/environment.h"
#include "orchestrator/progress_text.h"
#include "orchestrator/service.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator::cli {
namespace {

RunOptions OptionsOf(const Invocation& call) {
  RunOptions options;
  options.environment = call.environment;
  options.version = VersionText();
  options.build_facts = BuildFacts();
  options.slots = std::max(call.line.slots, 1);
  options.metrics_listen = call.line.metrics_listen;
  if (call.line.grace_seconds > 0) options.grace_seconds = call.line.grace_seconds;
  options.time_limit_seconds = call.line.time_limit_seconds;
  options.quiet = call.line.global.quiet;
  options.color = call.console.options().color_err;
  options.worker_program = cluster::FindVariable(call.environment, "RETORT_WORKER").value_or("");
  return options;
}

// Stops the run in time for the end of the allocation that it is in, if any. A value is the exit code of
// a run that has nothing left to start.
std::optional<int> KeepToAllocation(const Invocation& call, RunOptions& options) {
  const Result<std::optional<cluster::AllocationEnd>> found = cluster::FindAllocationEnd(options.environment);
  if (!found.ok()) return call.console.Fail(found.status());
  if (!found->has_value()) return std::nullopt;
  const cluster::AllocationEnd& end = **found;
  const double now = ReadClocks().unix_seconds;
  const double work = cluster::WorkSeconds(end, now, options.grace_seconds);
  const std::string ends = fmt::format("the allocation ends in {} ({})",
                                       DurationText(std::max(0.0, end.unix_seconds - now)), end.named_by);
  if (work <= 0) {
    call.console.Message(
        fmt::format("{}: too little to start anything; run the same command in a new one", ends));
    return ExitCode(StatusCode::cancelled);
  }
  call.console.Message(fmt::format("{}; work stops, saved, in {}", ends, DurationText(work)));
  const double limit = options.time_limit_seconds;
  options.time_limit_seconds = limit > 0 ? std::min(limit, work) : work;
  return std::nullopt;
}

// The document of `run --json`: how the sweep stands now.
void PrintOutcome(const Invocation& call, const std::string& results, int code) {
  const Result<ResultsView> view = ReadResults(call.env, results);
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = results;
  document["exit_code"] = code;
  document["counts"] = nlohmann::ordered_json::object();
  if (view.ok())
    for (const auto& [state, count] : CountStates(*view)) document["counts"][state] = count;
  call.console.Data(DocumentText(document));
}

void SayNext(const Invocation& call, const std::string& results, int code) {
  const CommandLine& line = call.line;
  std::string table = "next: retort table " + line.sweep;
  for (const std::string& word : line.overrides) table += " '" + word + "'";
  if (!line.global.profile.empty()) table += " --profile " + line.global.profile;
  if (!line.global.results.empty()) table += " --results " + results;
  if (code == 0) call.console.Message(table);
  if (code == 1) call.console.Message("next: retort status --results " + results);
  if (code == 75) call.console.Message("next: run the same command again; it goes on where it stopped");
}

}  // namespace

int RunCommand(const Invocation& call) {
  RunOptions options = OptionsOf(call);
  if (!IsWorldRankZero(call.environment)) {
    const Result<int> agent = RunAgentRank(options);
    return agent.ok() ? *agent : call.console.Fail(agent.status());
  }
  if (const std::optional<int> code = KeepToAllocation(call, options)) return EndRun(options, *code);
  const CommandLine& line = call.line;
  LoadedSweep loaded = LoadWithData(call.env, {line.sweep, line.overrides, line.global.profile, true});
  if (!loaded.plan) return EndRun(options, call.console.Fail(loaded.errors, loaded.code));
  options.results = ResultsFor(line.global.results, loaded.plan->name);
  WarnOfOtherBudgets(call.env, options.results, *loaded.plan);
  for (const Diagnostic& warning : loaded.plan->warnings) call.console.Warn(warning);
  const Result<int> code = RunSweep(*loaded.plan, options);
  if (!code.ok()) return EndRun(options, call.console.Fail(code.status()));
  if (line.global.json)
    PrintOutcome(call, options.results, *code);
  else
    SayNext(call, options.results, *code);
  return EndRun(options, *code);
}

}  // namespace retort::orchestrator::cli
