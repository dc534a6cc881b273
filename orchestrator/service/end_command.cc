#include "orchestrator/service/end_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/results/shared_examples.h"
#include "orchestrator/service/shell_command.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

constexpr std::uint64_t kMaxToldBytes = 4096;
constexpr std::chrono::milliseconds kPause{20};

std::string ToldPath(const std::string& results) { return results + "/told"; }

std::int64_t CountEnded(const ResultsView& view, TrialState state) {
  return std::ranges::count_if(view.trials, [state](const TrialView& trial) { return trial.state == state; });
}

std::string DigestEnd(const ResultsView& view) {
  std::string text = view.sweep + "\n";
  for (const TrialView& trial : view.trials)
    text += fmt::format("{} {} {}\n", trial.spec.id.Hex(), GetStateName(trial.state), trial.attempts);
  return ComputeSha256Hex(text);
}

// Nothing when it takes longer than it may; it is gone then.
std::optional<Status> WaitFor(ShellCommand& command, double max_seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(max_seconds);
  while (true) {
    if (std::optional<Status> ended = command.Poll()) return ended;
    if (std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(kPause);
  }
  command.Kill();
  return std::nullopt;
}

}  // namespace

SweepEnd DescribeEnd(const ResultsView& view, int exit_code) {
  SweepEnd end;
  end.sweep = view.sweep;
  end.results = FindAbsolutePath(view.directory);
  end.exit_code = exit_code;
  end.trials = std::ssize(view.trials);
  end.succeeded = CountEnded(view, TrialState::succeeded);
  end.failed = CountEnded(view, TrialState::failed);
  end.not_run = CountEnded(view, TrialState::parent_failed);
  end.cancelled = CountEnded(view, TrialState::cancelled);
  const bool all_ended = std::ranges::all_of(view.trials, [](const TrialView& trial) { return IsFinal(trial.state); });
  end.outcome = exit_code == 0 ? "succeeded" : all_ended ? "failed" : "quota";
  end.digest = DigestEnd(view);
  return end;
}

Result<bool> ClaimEnd(storage::Env& env, const SweepEnd& end) {
  if (end.digest.empty()) return true;
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::FileLock> lock, LockFolder(env, end.results));
  const std::string path = ToldPath(end.results), text = end.digest + "\n";
  RETORT_ASSIGN_OR_RETURN(const bool any, storage::PathExists(env, path));
  if (any) {
    const Result<std::string> told = env.ReadSmallFile(path, kMaxToldBytes);
    if (told.ok() && *told == text) return false;
  }
  RETORT_RETURN_IF_ERROR(env.WriteFileAtomically(path, text));
  return true;
}

std::vector<std::string> MakeEndEnvironment(const SweepEnd& end, const std::vector<std::string>& environment) {
  const std::vector<std::pair<std::string, std::string>> told = {
      {"RETORT_SWEEP", end.sweep},
      {"RETORT_RESULTS", end.results},
      {"RETORT_OUTCOME", end.outcome},
      {"RETORT_MESSAGE", end.message},
      {"RETORT_EXIT_CODE", end.exit_code ? std::to_string(*end.exit_code) : ""},
      {"RETORT_TRIALS", std::to_string(end.trials)},
      {"RETORT_SUCCEEDED", std::to_string(end.succeeded)},
      {"RETORT_FAILED", std::to_string(end.failed)},
      {"RETORT_NOT_RUN", std::to_string(end.not_run)},
      {"RETORT_CANCELLED", std::to_string(end.cancelled)},
  };
  return AddVariables(environment, told);
}

Status RunEndCommand(const std::string& command, const SweepEnd& end, const std::vector<std::string>& environment,
                     double max_seconds) {
  RETORT_ASSIGN_OR_RETURN(ShellCommand shell, ShellCommand::Start(command, MakeEndEnvironment(end, environment)));
  const std::optional<Status> ended = WaitFor(shell, max_seconds);
  if (!ended)
    return EnvironmentError(fmt::format("it was killed, since it took more than {}", FormatDuration(max_seconds)));
  return *ended;
}

}  // namespace retort::orchestrator
