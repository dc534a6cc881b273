#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "experiments/base/printable.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/journal/request_inbox.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/service/amend_results.h"

namespace retort::orchestrator::cli {

// retort retry, retort cancel
namespace {

Result<std::vector<TrialId>> NamedTrials(const ResultsView& view, const std::vector<std::string>& words) {
  std::vector<TrialId> trials;
  for (const std::string& word : words) {
    RETORT_ASSIGN_OR_RETURN(const TrialView* trial, FindTrial(view, word));
    trials.push_back(trial->spec.id);
  }
  return trials;
}

RunOptions ListOptions(const Invocation& call, const std::string& directory) {
  RunOptions options;
  options.results = std::filesystem::absolute(directory).lexically_normal().string();
  options.environment = call.environment;
  options.version = FormatVersion();
  options.build_facts = BuildFacts();
  return options;
}

bool Holds(const std::vector<TrialId>& trials, TrialId id) {
  return std::find(trials.begin(), trials.end(), id) != trials.end();
}

constexpr std::chrono::milliseconds kBetweenLooks{100};

// What the run that holds the folder is asked for.
Result<AmendRequest> MakeRequest(const ResultsView& view, const AmendmentOrder& order) {
  AmendRequest request{order.amendment, view.sweep, {}};
  for (const TrialView& trial : view.trials)
    if (order.every_failed ? trial.state == TrialState::failed : Holds(order.trials, trial.spec.id))
      request.trials.push_back({trial.spec.id, trial.attempts});
  if (request.trials.size() > kMaxRequestedTrials || request.sweep.size() > kMaxSweepNameBytes)
    return UsageError(fmt::format("that are {} trials, and a run takes at most {} in one request: name them in parts",
                                  request.trials.size(), kMaxRequestedTrials));
  return request;
}

Result<AmendmentReport> Ask(const Invocation& call, const RunOptions& options, const ResultsView& view,
                            const AmendmentOrder& order) {
  RETORT_ASSIGN_OR_RETURN(const AmendRequest request, MakeRequest(view, order));
  if (request.trials.empty()) return AmendmentReport{};
  AnswerWait patience;
  patience.pause = [] { std::this_thread::sleep_for(kBetweenLooks); };
  const std::string name = RequestName(ReadClocks().unix_seconds, GetHostName(), ::getpid());
  return RequestAmendment(call.env, options, request, name, patience, [] { return ReadClocks(); });
}

// At once, or through whoever runs the sweep.
Result<AmendmentReport> AmendOrAsk(const Invocation& call, const ResultsView& view, const AmendmentOrder& order) {
  const RunOptions options = ListOptions(call, view.directory);
  if (!view.running) {
    Result<std::vector<TrialId>> changed = AmendResults(call.env, options, order, ReadClocks());
    if (changed.ok()) return AmendmentReport{AmendmentReport::Outcome::done, *std::move(changed), ""};
    // Somebody may have begun to run it in between.
    if (const Result<ResultsView> again = ReadResults(call.env, view.directory); !again.ok() || !again->running)
      return changed.status();
  }
  return Ask(call, options, view, order);
}

void SayOutcome(const Invocation& call, const AmendmentReport& report) {
  using Outcome = AmendmentReport::Outcome;
  if (!report.text.empty()) call.console.Message(report.text);
  if (report.outcome == Outcome::saving)
    call.console.Message("the run has taken it up: workers save their state, and then it is done");
  else if (report.outcome == Outcome::queued)
    call.console.Message("nobody has answered yet: the request is queued, and done by the run or by the next one");
  else if (report.changed.empty())
    call.console.Message("nothing to do: every trial named is as asked for");
}

const char* OutcomeName(AmendmentReport::Outcome outcome) {
  if (outcome == AmendmentReport::Outcome::done) return "done";
  return outcome == AmendmentReport::Outcome::saving ? "saving" : "queued";
}

// How the folder stands now.
int PrintOutcome(const Invocation& call, const std::string& directory, const AmendmentReport& report) {
  const std::vector<TrialId>& changed = report.changed;
  const Result<ResultsView> view = ReadResults(call.env, directory);
  if (!view.ok()) return call.console.Fail(view.status());
  if (call.line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["results"] = directory;
    document["outcome"] = OutcomeName(report.outcome);
    document["text"] = report.text;
    document["changed"] = nlohmann::ordered_json::array();
    for (const TrialView& trial : view->trials)
      if (Holds(changed, trial.spec.id))
        document["changed"].push_back(
            {{"trial", trial.spec.id.Hex()}, {"name", trial.spec.name}, {"state", GetStateName(trial.state)}});
    document["counts"] = nlohmann::ordered_json::object();
    for (const auto& [state, count] : CountStates(*view)) document["counts"][state] = count;
    call.console.Data(FormatDocument(document));
    return 0;
  }
  for (const TrialView& trial : view->trials)
    if (Holds(changed, trial.spec.id))
      call.console.Data(MakePrintable(fmt::format("{}: {}\n", FormatTrialName(trial.spec), GetStateName(trial.state))));
  SayOutcome(call, report);
  if (!changed.empty() && call.line.command == "retry" && !view->running)
    call.console.Message("next: " + RunAgainCommand(directory));
  return 0;
}

int Amend(const Invocation& call, Amendment amendment) {
  const CommandLine& line = call.line;
  const bool every = amendment == Amendment::retry && line.amend.failed;
  if (every == !line.amend.trials.empty())
    return call.console.Fail(UsageError(amendment == Amendment::retry
                                            ? "retort retry takes names of trials, or --failed for all that failed"
                                            : "retort cancel takes names of trials; `retort list` shows them"));
  const Result<ResultsView> view = OpenResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<std::vector<TrialId>> trials = NamedTrials(*view, line.amend.trials);
  if (!trials.ok()) return call.console.Fail(trials.status());
  const Result<AmendmentReport> report = AmendOrAsk(call, *view, {amendment, *trials, every});
  if (!report.ok()) {
    // What the state of a trial does not allow is the caller's to mend.
    const Status& status = report.status();
    return call.console.Fail(status.code() == StatusCode::refused ? UsageError(status.message()) : status);
  }
  return PrintOutcome(call, view->directory, *report);
}

}  // namespace

void AddAmend(CLI::App& app, CommandLine& line) {
  CLI::App* retry = AddCommand(app, "retry", "Queue failed or cancelled trials again, with their students");
  retry->add_option("TRIAL", line.amend.trials, "Ids, unique prefixes of ids, or shown names");
  retry->add_flag("--failed", line.amend.failed, "Every trial that failed");

  CLI::App* cancel = AddCommand(app, "cancel", "Leave trials out that have not ended yet; what runs is saved first");
  cancel->add_option("TRIAL", line.amend.trials, "Ids, unique prefixes of ids, or shown names")->required();
}

int ExecuteRetry(const Invocation& call) { return Amend(call, Amendment::retry); }
int ExecuteCancel(const Invocation& call) { return Amend(call, Amendment::cancel); }

}  // namespace retort::orchestrator::cli
