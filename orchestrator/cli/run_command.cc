#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/load_sweep.h"
#include "orchestrator/cli/printed_command.h"
#include "orchestrator/cli/results_location.h"
#include "orchestrator/cli/run_ending.h"
#include "orchestrator/cli/run_options.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/cli/sweep_summary.h"
#include "orchestrator/cli/version.h"
#include "orchestrator/cost_cache.h"
#include "orchestrator/environment.h"
#include "orchestrator/service.h"

namespace retort::orchestrator::cli {
namespace {

// The document of `run --json`: how the sweep stands now.
void PrintOutcome(const Invocation& call, const std::string& results, int code) {
  const Result<ResultsView> view = ReadPacked(call.env, results);
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = results;
  document["exit_code"] = code;
  document["counts"] = nlohmann::ordered_json::object();
  if (view.ok())
    for (const auto& [state, count] : CountStates(*view)) document["counts"][state] = count;
  call.console.Data(DocumentText(document));
}

bool AllEnded(storage::Env& env, const std::string& results) {
  const Result<ResultsView> view = ReadJournaled(env, results);
  return !view.ok() || std::all_of(view->trials.begin(), view->trials.end(),
                                   [](const TrialView& trial) { return IsFinal(trial.state); });
}

void SayNext(const Invocation& call, const std::string& results, int code) {
  const CommandLine& line = call.line;
  RunEnding ending{code, true, line.sweep, results, SweepCommand("table", line)};
  if (code == 1) ending.all_ended = AllEnded(call.env, results);
  call.console.Message(NextAfterRun(ending));
}

}  // namespace

int RunCommand(const Invocation& call) {
  // How a sweep ends does not hang on who reads of it. The document at its end is for somebody.
  std::signal(SIGPIPE, SIG_IGN);
  RunOptions options = RunOptionsOf(call);
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
  // Where it cannot be written, the next `status` reads the journal. Who was interrupted does not wait for it.
  if (*code == 0 || *code == 1) {
    const CostCache costs = OpenCostCache(call.env, call.environment);
    (void)KeepSummary(call.env, options.results, costs, VersionText());
  }
  if (line.global.json) {
    std::signal(SIGPIPE, SIG_DFL);
    PrintOutcome(call, options.results, *code);
  } else {
    SayNext(call, options.results, *code);
  }
  return EndRun(options, *code);
}

}  // namespace retort::orchestrator::cli
