#include "orchestrator/cli/commands/open_results.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/selection_draw.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/results/verify.h"
#include "storage/files/file_modes.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator::cli {
namespace {

namespace fs = std::filesystem;

std::optional<fs::file_time_type> ChangedAt(const std::string& path) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

Result<bool> HoldsJournal(storage::Env& env, const std::string& folder) {
  RETORT_ASSIGN_OR_RETURN(const bool is_folder, storage::IsFolder(env, folder));
  return is_folder ? storage::PathExists(env, folder + "/journal.log") : Result(false);
}

}  // namespace

std::string FindResultsPath(const std::string& named, const std::string& sweep) {
  return named.empty() ? "results/" + sweep : named;
}

Result<FoundResults> FindResults(storage::Env& env, const std::string& named, const std::string& base) {
  if (!named.empty()) {
    RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, named + "/journal.log"));
    if (!there)
      return EnvironmentError(named + " holds no sweep (it has no journal.log). `" +
                              AddResultsOption("retort run SWEEP", named) + "` makes one.");
    if (const std::string hidden = DescribeHidden(env, named); !hidden.empty()) return Refused(hidden + ".");
    return FoundResults{named, false};
  }
  std::vector<std::string> names;
  RETORT_ASSIGN_OR_RETURN(const bool any, storage::PathExists(env, base));
  if (any) {
    RETORT_ASSIGN_OR_RETURN(names, env.List(base));
  }
  FoundResults newest;
  Status unreadable;  // of one that may be what is looked for
  std::optional<fs::file_time_type> newest_time;
  for (const std::string& name : names) {
    const std::string journal = base + "/" + name + "/journal.log";
    const Result<bool> holds = HoldsJournal(env, base + "/" + name);
    if (!holds.ok()) unreadable = holds.status();
    const auto time = holds.ok() && *holds ? ChangedAt(journal) : std::nullopt;
    if (!time || (newest_time && *time <= *newest_time)) continue;
    newest_time = time;
    newest = {base + "/" + name, true};
  }
  if (newest_time) return newest;
  RETORT_RETURN_IF_ERROR(unreadable);
  return EnvironmentError(
      "there is no results folder below " + base +
      "/. Run a sweep first (retort run experiments/configs/quickstart.toml), or name a folder with "
      "--results DIR.");
}

namespace {

Result<ResultsView> Shown(const Invocation& call, Result<ResultsView> view) {
  if (view.ok()) WithdrawRefuted(call.env, *view);
  return view;
}

}  // namespace

Result<std::string> LocateResults(const Invocation& call) {
  RETORT_ASSIGN_OR_RETURN(FoundResults found, FindResults(call.env, call.line.global.results));
  if (found.chosen) call.console.Message("results: " + found.directory);
  return std::move(found.directory);
}

Result<ResultsView> OpenResults(const Invocation& call) {
  RETORT_ASSIGN_OR_RETURN(const std::string directory, LocateResults(call));
  return ReadResults(call.env, directory);
}

Result<ResultsView> OpenShownResults(const Invocation& call) { return Shown(call, OpenResults(call)); }

Result<ResultsView> OpenPackedResults(const Invocation& call, const std::string& directory) {
  return Shown(call, ReadPacked(call.env, directory));
}

mode_t ChooseUmask(const Invocation& call, const std::string& results) {
  return storage::IsReadableByOthers(GetJournalPath(results)) ? call.umask : storage::kPrivateUmask | call.umask;
}

CostCache OpenCosts(const Invocation& call) {
  CostCache cache = OpenCostCache(call.env, call.environment);
  if (!cache.warning.empty()) {
    Diagnostic warning;
    warning.message = cache.warning;
    call.console.Warn(warning);
  }
  return cache;
}

Result<storage::AttemptFile> ReadFileOfRow(const ResultsView& view, const TrialView& trial) {
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file,
                          storage::ReadAttemptFile(view.directory + "/" + trial.row->attempt_file));
  const Status same = CheckAgainstRow(file, *trial.row);
  if (same.ok()) return file;
  return DamageError(same.message() + " Nothing was exported; `" + AddResultsOption("retort verify", view.directory) +
                     "` says what else is damaged.");
}

}  // namespace retort::orchestrator::cli
