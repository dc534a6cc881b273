#include "orchestrator/service/end_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/results/shared_examples.h"
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
    text += fmt::format("{} {} {}\n", trial.spec.id.Hex(), StateName(trial.state), trial.attempts);
  return Sha256Hex(text);
}

// What a process is started with.
class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, STDERR_FILENO, STDOUT_FILENO);
    // This process ignores SIGPIPE, and may have blocked others.
    sigset_t none, standard;
    ::sigemptyset(&none);
    ::sigemptyset(&standard);
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) ::sigaddset(&standard, signal);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &standard);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* files() const { return &files_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

Result<pid_t> SpawnShell(const std::string& command, const std::vector<std::string>& environment) {
  std::vector<std::string> words = {"sh", "-c", command}, variables = environment;
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> found;
    for (std::string& text : texts) found.push_back(text.data());
    found.push_back(nullptr);
    return found;
  };
  const SpawnSettings settings;
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, "/bin/sh", settings.files(), settings.attributes(), pointers(words).data(),
                                   pointers(variables).data());
  if (failed != 0) return EnvironmentError(std::string("/bin/sh cannot be started: ") + std::strerror(failed));
  return child;
}

// Nothing when it takes longer than it may; it is gone then.
std::optional<int> WaitFor(pid_t child, double max_seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(max_seconds);
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return 0;  // nobody knows how it ended
    if (std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(kPause);
  }
  ::kill(-child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
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
      {"RETORT_EXIT_CODE", std::to_string(end.exit_code)},
      {"RETORT_TRIALS", std::to_string(end.trials)},
      {"RETORT_SUCCEEDED", std::to_string(end.succeeded)},
      {"RETORT_FAILED", std::to_string(end.failed)},
      {"RETORT_NOT_RUN", std::to_string(end.not_run)},
      {"RETORT_CANCELLED", std::to_string(end.cancelled)},
  };
  std::vector<std::string> variables;
  for (const std::string& variable : environment)
    if (std::ranges::none_of(told, [&](const auto& one) { return variable.starts_with(one.first + "="); }))
      variables.push_back(variable);
  for (const auto& [name, value] : told) variables.push_back(name + "=" + value);
  return variables;
}

Status RunEndCommand(const std::string& command, const SweepEnd& end, const std::vector<std::string>& environment,
                     double max_seconds) {
  RETORT_ASSIGN_OR_RETURN(const pid_t child, SpawnShell(command, MakeEndEnvironment(end, environment)));
  const std::optional<int> status = WaitFor(child, max_seconds);
  if (!status)
    return EnvironmentError(fmt::format("it was killed, since it took more than {}", DurationText(max_seconds)));
  if (WIFSIGNALED(*status)) return EnvironmentError(fmt::format("it was ended by signal {}", WTERMSIG(*status)));
  if (WEXITSTATUS(*status) != 0)
    return EnvironmentError(fmt::format("it ended with exit code {}", WEXITSTATUS(*status)));
  return {};
}

}  // namespace retort::orchestrator
