#include "orchestrator/cli/results_location.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "orchestrator/cli/printed_command.h"

namespace retort::orchestrator::cli {
namespace {

namespace fs = std::filesystem;

std::optional<fs::file_time_type> ChangedAt(const std::string& path) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

}  // namespace

std::string ResultsFor(const std::string& named, const std::string& sweep) {
  return named.empty() ? "results/" + sweep : named;
}

Result<FoundResults> FindResults(storage::Env& env, const std::string& named, const std::string& base) {
  if (!named.empty()) {
    if (!env.Exists(named + "/journal.log"))
      return EnvironmentError(named + " holds no sweep (it has no journal.log). `" +
                              AtResults("retort run SWEEP", named) + "` makes one.");
    return FoundResults{named, false};
  }
  std::vector<std::string> names;
  if (env.Exists(base)) {
    RETORT_ASSIGN_OR_RETURN(names, env.List(base));
  }
  FoundResults newest;
  std::optional<fs::file_time_type> newest_time;
  for (const std::string& name : names) {
    const std::string journal = base + "/" + name + "/journal.log";
    const auto time = env.Exists(journal) ? ChangedAt(journal) : std::nullopt;
    if (!time || (newest_time && *time <= *newest_time)) continue;
    newest_time = time;
    newest = {base + "/" + name, true};
  }
  if (newest_time) return newest;
  return EnvironmentError(
      "there is no results folder below " + base +
      "/. Run a sweep first (retort run experiments/configs/quickstart.toml), or name a folder with "
      "--results DIR.");
}

}  // namespace retort::orchestrator::cli
