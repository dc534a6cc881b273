#include "orchestrator/service/shell_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace retort::orchestrator {
namespace {

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

}  // namespace

Result<ShellCommand> ShellCommand::Start(const std::string& command, const std::vector<std::string>& environment) {
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
  return ShellCommand(child);
}

ShellCommand::ShellCommand(ShellCommand&& other) noexcept : child_(std::exchange(other.child_, 0)) {}

ShellCommand::~ShellCommand() { Kill(); }

std::optional<Status> ShellCommand::Poll() {
  if (child_ == 0) return Status();
  int status = 0;
  const pid_t ended = ::waitpid(child_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
  child_ = 0;
  if (ended < 0) return Status();  // nobody knows how it ended
  if (WIFSIGNALED(status)) return EnvironmentError(fmt::format("it was ended by signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) return EnvironmentError(fmt::format("it ended with exit code {}", WEXITSTATUS(status)));
  return Status();
}

void ShellCommand::Kill() {
  if (child_ == 0) return;
  ::kill(-child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
}

std::vector<std::string> AddVariables(const std::vector<std::string>& environment,
                                      const std::vector<std::pair<std::string, std::string>>& told) {
  std::vector<std::string> variables;
  for (const std::string& variable : environment)
    if (std::ranges::none_of(told, [&](const auto& one) { return variable.starts_with(one.first + "="); }))
      variables.push_back(variable);
  for (const auto& [name, value] : told) variables.push_back(name + "=" + value);
  return variables;
}

}  // namespace retort::orchestrator
