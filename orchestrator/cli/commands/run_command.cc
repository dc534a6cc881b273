#include "orchestrator/cli/commands/run_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>

#include "cluster/launch_environment.h"
#include "experiments/base/number_text.h"
#include "experiments/base/status.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/status_text.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/cli/shell/command_tree.h"
#include "orchestrator/journal/cost_cache.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/results/shared_examples.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/sweep_summary.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/service/end_command.h"
#include "orchestrator/service/selection_run.h"
#include "orchestrator/service/service.h"

namespace retort::orchestrator::cli {
namespace {

constexpr int kSomeFailed = 1;
constexpr int kEndedAtOnce = 130;

}  // namespace

std::string DescribeNextStep(const RunEnding& ending) {
  const std::string again = "next: run the same command again; it goes on ";
  if (ending.code == 0) return "next: " + ending.table;
  if (ending.code == kSomeFailed && !ending.all_ended)
    return fmt::format("next: raise [sweep] quota in {}, and run the same command again", ending.sweep);
  if (ending.code == kSomeFailed)
    return fmt::format("next: `{}` names the causes; then `{}`", AddResultsOption("retort status", ending.results),
                       AddResultsOption("retort retry --failed", ending.results));
  if (ending.code == GetExitCode(StatusCode::environment))
    return fmt::format(
        "next: make room on the disk of {}, and run the same command again: it tries again what the "
        "disk had ended",
        ending.results);
  return again + (ending.code == kEndedAtOnce ? "from the last checkpoints" : "where it stopped");
}

RunOptions ReadRunOptions(const Invocation& call) {
  RunOptions options;
  options.environment = call.environment;
  options.version = FormatVersion();
  options.build_facts = BuildFacts();
  options.slots = std::max(call.line.slots, 1);
  options.oversubscribe_gpu = call.line.oversubscribe_gpu;
  options.metrics_listen = call.line.run.metrics_listen;
  options.metrics_auth = call.line.run.metrics_auth;
  options.metrics_tls = call.line.run.metrics_tls;
  if (call.line.run.share) options.shared_umask = call.umask;
  if (call.line.run.grace_seconds > 0) options.grace_seconds = call.line.run.grace_seconds;
  options.time_limit_seconds = call.line.run.time_limit_seconds;
  options.on_stall = call.line.run.on_stall;
  if (call.line.run.stall_seconds > 0) options.stall_seconds = call.line.run.stall_seconds;
  options.quiet = call.line.global.quiet;
  options.color = call.console.options().color_err;
  options.worker_program = cluster::FindVariable(call.environment, "RETORT_WORKER").value_or("");
  return options;
}

std::optional<int> LimitToAllocation(const Invocation& call, RunOptions& options) {
  const Result<std::optional<cluster::AllocationEnd>> found = cluster::FindAllocationEnd(options.environment);
  if (!found.ok()) return call.console.Fail(found.status());
  if (!found->has_value()) return std::nullopt;
  const cluster::AllocationEnd& end = **found;
  const double now = ReadClocks().unix_seconds;
  const double work = cluster::ComputeWorkSeconds(end, now, options.grace_seconds);
  const std::string ends = fmt::format("the allocation ends in {} ({})",
                                       FormatDuration(std::max(0.0, end.unix_seconds - now)), end.named_by);
  if (work <= 0) {
    call.console.Message(fmt::format("{}: too little to start anything; run the same command in a new one", ends));
    return GetExitCode(StatusCode::cancelled);
  }
  call.console.Message(fmt::format("{}; work stops, saved, in {}", ends, FormatDuration(work)));
  const double limit = options.time_limit_seconds;
  options.time_limit_seconds = limit > 0 ? std::min(limit, work) : work;
  return std::nullopt;
}

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
  call.console.Data(FormatDocument(document));
}

bool AllEnded(storage::Env& env, const std::string& results) {
  const Result<ResultsView> view = ReadJournaled(env, results);
  return !view.ok() || std::all_of(view->trials.begin(), view->trials.end(),
                                   [](const TrialView& trial) { return IsFinal(trial.state); });
}

std::string DescribeSelecting(const SweepPlan& plan) {
  return fmt::format(
      "selecting among {} candidate{}: how many are drawn, and how they do, stays hidden; the best alone is released",
      plan.trials.size(), plan.trials.size() == 1 ? "" : "s");
}

std::string DescribeSearching(const SearchSpec& search) {
  std::string how;
  if (search.IsAsynchronous())
    return fmt::format(
        "searching ({}) by {}: {} suggestions at random on the first of {} rungs, and the best one in {} "
        "of those that have ended on each goes on as soon as a slot is free",
        MakeSearchTerms(search).method, search.score, search.trials, search.rungs().size(), search.reduction);
  if (search.HasRungs())
    how = fmt::format(", {} of them at random on the first of {} rungs, then the best one in {} of each", search.trials,
                      search.space.back().choices.size(), search.reduction);
  else if (search.IsAdaptive())
    how = fmt::format(", {} of them at random, then {} a round", std::min(search.startup, search.trials), search.batch);
  return fmt::format("searching ({}) by {}: {} suggestions{}", MakeSearchTerms(search).method, search.score,
                     CountSuggestions(search), how);
}

void SayNext(const Invocation& call, const std::string& results, int code) {
  const CommandLine& line = call.line;
  RunEnding ending{code, true, line.sweep, results, FormatSweepCommand("table", line)};
  if (code == 1) ending.all_ended = AllEnded(call.env, results);
  call.console.Message(DescribeNextStep(ending));
}

// Nothing for a run that was interrupted, or that another one keeps from running: the sweep has not ended then.
std::optional<SweepEnd> FindEnd(const Invocation& call, const std::string& sweep, const std::string& results,
                                const Result<int>& code) {
  SweepEnd end;
  end.sweep = sweep;
  end.results = FindAbsolutePath(results);
  end.outcome = "error";
  if (!code.ok()) {
    if (code.status().code() == StatusCode::cancelled || IsFolderLocked(call.env, results)) return std::nullopt;
    end.message = code.status().message();
    end.exit_code = GetExitCode(code.status().code());
    return end;
  }
  end.exit_code = *code;
  if (*code == GetExitCode(StatusCode::environment)) end.message = "the disk of " + end.results + " is full or broken";
  if (*code != 0 && *code != kSomeFailed) return end.message.empty() ? std::nullopt : std::optional(end);
  const Result<ResultsView> view = ReadJournaled(call.env, results);
  if (view.ok()) return DescribeEnd(*view, *code);
  end.message = view.status().message();
  return end;
}

// Runs what --on-end names, where the sweep has ended and nobody was told of it yet.
void TellEnd(const Invocation& call, const std::string& sweep, const std::string& results, const Result<int>& code) {
  const std::string& command = call.line.run.on_end;
  const std::optional<SweepEnd> end = command.empty() ? std::nullopt : FindEnd(call, sweep, results, code);
  if (!end) return;
  const Result<bool> claimed = ClaimEnd(call.env, *end);
  if (claimed.ok() && !*claimed) return;
  if (!claimed.ok())
    call.console.Message("warning: --on-end may run again at the next run: " + claimed.status().message());
  if (const Status told = RunEndCommand(command, *end, call.environment); !told.ok())
    call.console.Message("warning: the command of --on-end failed: " + told.message() +
                         "; that changes nothing of the sweep");
}

}  // namespace

void AddOversubscription(CLI::App& command, CommandLine& line) {
  command
      .add_option("--oversubscribe-gpu", line.oversubscribe_gpu,
                  "Test mode: workers on each GPU at once, also of one gang (default 1); rows say so")
      ->check(CLI::Range(1, kMaxWorkersPerGpu));
}

void AddRunOptions(CLI::App& command, CommandLine& line, RawWords& words) {
  command.add_option("--slots", line.slots, "Workers at once on this rank's CPUs (default 1)")
      ->check(CLI::Range(1, 4096));
  AddOversubscription(command, line);
  command.add_option("--metrics-listen", line.run.metrics_listen,
                     "ADDR:PORT of the metrics endpoint ([ADDR]:PORT of IPv6), or none (default 127.0.0.1 and the next "
                     "free port from 9477)");
  command
      .add_option("--metrics-auth", line.run.metrics_auth,
                  "File whose first line is user:password, asked for by the metrics endpoint (HTTP basic)")
      ->type_name("FILE");
  command
      .add_option("--metrics-tls", line.run.metrics_tls,
                  "PEM file with certificate chain and private key: the metrics endpoint speaks HTTPS")
      ->type_name("FILE");
  command.add_flag("--share", line.run.share,
                   "Let others read the results folder as your umask says (default: files 600, folders 700)");
  command
      .add_option("--time-limit", words.time_limit,
                  "Save and stop after this time, e.g. 90m; exit code 75, run again to go on")
      ->type_name("DURATION");
  command
      .add_option("--grace", words.grace, "Time to save from the first signal until workers are killed (default 25s)")
      ->type_name("DURATION");
}

void AddRun(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* run = AddCommand(app, "run", "Run the sweep, or resume it; running a finished sweep does nothing");
  AddSweep(*run, words, kOverrideWords, kOverridesHelp);
  AddRunOptions(*run, line, words);
  run->add_option("--on-end", line.run.on_end,
                  "Once the sweep has ended, however: run this by /bin/sh -c, with RETORT_SWEEP, RETORT_RESULTS, "
                  "RETORT_OUTCOME (succeeded, failed, quota or error) and counts in its environment; its failure "
                  "changes nothing")
      ->type_name("CMD");
  CLI::Option* stall =
      run->add_option(
             "--on-stall", line.run.on_stall,
             "When no trial has made a step for a while: run this in the same way, with RETORT_OUTCOME stalled "
             "and RETORT_MESSAGE. Once a stall; the sweep goes on")
          ->type_name("CMD");
  run->add_option("--stall-after", words.stall, "How long that while is (default 15m)")
      ->type_name("DURATION")
      ->needs(stall);
}

int ExecuteRun(const Invocation& call) {
  // How a sweep ends does not hang on who reads of it. The document at its end is for somebody.
  std::signal(SIGPIPE, SIG_IGN);
  RunOptions options = ReadRunOptions(call);
  if (!IsWorldRankZero(call.environment)) {
    const Result<int> agent = RunAgentRank(options);
    return agent.ok() ? *agent : call.console.Fail(agent.status());
  }
  if (const std::optional<int> code = LimitToAllocation(call, options)) return EndRun(options, *code);
  const CommandLine& line = call.line;
  const LoadRequest request{line.sweep, line.overrides, line.global.profile, true, false, line.global.results};
  LoadedSweep loaded = LoadWithData(call.env, request);
  if (!loaded.plan) return EndRun(options, call.console.Fail(loaded.errors, loaded.code));
  options.results = FindResultsPath(line.global.results, loaded.plan->name);
  AddBudgetWarnings(call.env, options.results, *loaded.plan);
  for (const Diagnostic& warning : loaded.plan->warnings) call.console.Warn(warning);
  if (loaded.plan->select && !line.run.metrics_listen.empty() && line.run.metrics_listen != "none")
    return EndRun(options, call.console.Fail(UsageError(
                               "--metrics-listen: a selection serves no metrics, since they would tell of candidates "
                               "that are not released; leave it out")));
  if (loaded.plan->select && !line.run.on_stall.empty())
    return EndRun(options, call.console.Fail(UsageError(
                               "--on-stall: a selection tells nothing of candidates before one is released; leave it "
                               "out")));
  if (loaded.plan->select) call.console.Message(DescribeSelecting(*loaded.plan));
  if (loaded.plan->search) call.console.Message(DescribeSearching(*loaded.plan->search));
  options.plan_search = MakePlanSearch(call.env, request, loaded);
  const Result<int> code =
      loaded.plan->select ? RunSelectingSweep(*loaded.plan, options) : RunSweep(*loaded.plan, options);
  const std::string& sweep = loaded.plan->name;
  if (!code.ok()) {
    const int failed = call.console.Fail(code.status());
    TellEnd(call, sweep, options.results, code);
    return EndRun(options, failed);
  }
  // Where it cannot be written, the next `status` reads the journal. Who was interrupted does not wait for it.
  if (*code == 0 || *code == 1) {
    const CostCache costs = OpenCostCache(call.env, call.environment);
    (void)StoreSummary(call.env, options.results, costs, FormatVersion());
  }
  if (line.global.json) {
    std::signal(SIGPIPE, SIG_DFL);
    PrintOutcome(call, options.results, *code);
  } else {
    SayNext(call, options.results, *code);
  }
  TellEnd(call, sweep, options.results, code);
  return EndRun(options, *code);
}

}  // namespace retort::orchestrator::cli
