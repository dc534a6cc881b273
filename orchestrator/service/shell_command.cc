#include "orchestrator/service/shell_command.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cluster/spawn_setup.h"

namespace retort::orchestrator {
namespace {

// 0 or an errno value. This process ignores SIGPIPE, and may have blocked others.
int PrepareSpawn(cluster::SpawnSetup& setup) {
  sigset_t standard;
  ::sigemptyset(&standard);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) ::sigaddset(&standard, signal);
  int error = setup.ResetSignals(standard);
  if (error == 0) error = setup.CloseInput();
  return error != 0 ? error : setup.Copy(STDERR_FILENO, STDOUT_FILENO);
}

}  // namespace

Result<ShellCommand> ShellCommand::Start(const std::string& command, const std::vector<std::string>& environment) {
  cluster::SpawnSetup setup;
  pid_t child = 0;
  int failed = PrepareSpawn(setup);
  if (failed == 0) failed = setup.Start("/bin/sh", {"sh", "-c", command}, environment, child);
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
