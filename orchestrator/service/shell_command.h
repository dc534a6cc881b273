// A command that a user wants to be run, in a shell beside the sweep: it is never in the way of it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"

namespace retort::orchestrator {

inline constexpr double kCommandSeconds = 600;  // that such a command may take

// `/bin/sh -c COMMAND` in a process group of its own, with nothing on its stdin, and its stdout on this process's
// stderr.
class ShellCommand {
 public:
  // `environment`: all of its variables, "NAME=value". Error: environment, where no shell can be started.
  [[nodiscard]] static Result<ShellCommand> Start(const std::string& command,
                                                  const std::vector<std::string>& environment);
  ShellCommand(ShellCommand&& other) noexcept;
  ShellCommand& operator=(ShellCommand&&) = delete;
  ~ShellCommand();  // as Kill

  // Nothing while it runs; then ok, or an error (environment) that says how it ended.
  [[nodiscard]] std::optional<Status> Poll();
  // Ends it, with all that it has started and that has not left its process group, and waits for it.
  void Kill();

 private:
  explicit ShellCommand(pid_t child) : child_(child) {}
  pid_t child_;  // 0: it has ended
};

// `environment` with the variables `told`, which replace those of the same names.
[[nodiscard]] std::vector<std::string> AddVariables(const std::vector<std::string>& environment,
                                                    const std::vector<std::pair<std::string, std::string>>& told);

}  // namespace retort::orchestrator
