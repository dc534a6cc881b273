// retort retry, retort cancel
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "orchestrator/amend_results.h"
#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/open_results.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/cli/trial_names.h"
#include "orchestrator/cli/version.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator::cli {
namespace {

Result<std::vector<TrialId>> NamedTrials(const ResultsView& view, const std::vector<std::string>& words) {
  std::vector<TrialId> trials;
  for (const std::string& word : words) {
    RETORT_ASSIGN_OR_RETURN(const TrialView* trial, FindTrial(view, word));
    trials.push_back(trial->spec.id);
  }
  return trials;
}

RunOptions OptionsOf(const Invocation& call, const std::string& directory) {
  RunOptions options;
  options.results = std::filesystem::absolute(directory).lexically_normal().string();
  options.environment = call.environment;
  options.version = VersionText();
  options.build_facts = BuildFacts();
  return options;
}

bool Holds(const std::vector<TrialId>& trials, TrialId id) {
  return std::find(trials.begin(), trials.end(), id) != trials.end();
}

// How the folder stands now.
int PrintOutcome(const Invocation& call, const std::string& directory, const std::vector<TrialId>& changed) {
  const Result<ResultsView> view = ReadResults(call.env, directory);
  if (!view.ok()) return call.console.Fail(view.status());
  if (call.line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["results"] = directory;
    document["changed"] = nlohmann::ordered_json::array();
    for (const TrialView& trial : view->trials)
      if (Holds(changed, trial.spec.id))
        document["changed"].push_back(
            {{"trial", trial.spec.id.Hex()}, {"name", trial.spec.name}, {"state", StateName(trial.state)}});
    document["counts"] = nlohmann::ordered_json::object();
    for (const auto& [state, count] : CountStates(*view)) document["counts"][state] = count;
    call.console.Data(DocumentText(document));
    return 0;
  }
  for (const TrialView& trial : view->trials)
    if (Holds(changed, trial.spec.id))
      call.console.Data(fmt::format("{}: {}\n", ShownName(trial.spec), StateName(trial.state)));
  if (changed.empty()) call.console.Message("nothing to do: every trial named is as asked for");
  if (!changed.empty() && call.line.command == "retry")
    call.console.Message("next: run the same `retort run` command again");
  return 0;
}

int Amend(const Invocation& call, Amendment amendment) {
  const CommandLine& line = call.line;
  const bool every = amendment == Amendment::retry && line.failed;
  if (every == !line.trials.empty())
    return call.console.Fail(UsageError(
        amendment == Amendment::retry ? "retort retry takes names of trials, or --failed for all that failed"
                                      : "retort cancel takes names of trials; `retort list` shows them"));
  const Result<ResultsView> view = OpenResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<std::vector<TrialId>> trials = NamedTrials(*view, line.trials);
  if (!trials.ok()) return call.console.Fail(trials.status());
  const Result<std::vector<TrialId>> changed =
      AmendResults(call.env, OptionsOf(call, view->directory), {amendment, *trials, every}, ReadClocks());
  if (!changed.ok()) {
    // What the state of a trial does not allow is the caller's to mend.
    const Status& status = changed.status();
    return call.console.Fail(status.code() == StatusCode::refused ? UsageError(status.message()) : status);
  }
  return PrintOutcome(call, view->directory, *changed);
}

}  // namespace

int RetryCommand(const Invocation& call) { return Amend(call, Amendment::retry); }
int CancelCommand(const Invocation& call) { return Amend(call, Amendment::cancel); }

}  // namespace retort::orchestrator::cli
