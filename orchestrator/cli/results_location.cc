#include "orchestrator/cli/results_location.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "orchestrator/cli/printed_command.h"
#include "storage/presence.h"

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
  return is_folder ? storage::IsThere(env, folder + "/journal.log") : Result(false);
}

}  // namespace

std::string ResultsFor(const std::string& named, const std::string& sweep) {
  return named.empty() ? "results/" + sweep : named;
}

Result<FoundResults> FindResults(storage::Env& env, const std::string& named, const std::string& base) {
  if (!named.empty()) {
    RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, named + "/journal.log"));
    if (!there)
      return EnvironmentError(named + " holds no sweep (it has no journal.log). `" +
                              AtResults("retort run SWEEP", named) + "` makes one.");
    return FoundResults{named, false};
  }
  std::vector<std::string> names;
  RETORT_ASSIGN_OR_RETURN(const bool any, storage::IsThere(env, base));
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

}  // namespace retort::orchestrator::cli
