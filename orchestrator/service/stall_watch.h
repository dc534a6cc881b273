// Notices that a running sweep gets nowhere, and runs the command that the user wants to be run then:
// `retort run --on-stall CMD`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/core/core.h"
#include "orchestrator/service/shell_command.h"

namespace retort::orchestrator {

struct StallRule {
  std::string command;                   // for /bin/sh; empty: nothing is watched
  double after_seconds = 0;              // without a step of any trial
  std::vector<std::string> environment;  // of the command, "NAME=value"
};

// A stall: trials run, and none of them has made a step, begun another phase, saved or reserved for that long. It is
// told once, and again only when work has gone on in between. Watchdogs end single attempts that are silent
// (core/step_watch.h); this says that nothing else goes on either.
class StallWatch {
 public:
  explicit StallWatch(StallRule rule) : rule_(std::move(rule)) {}

  // Call now and then. Starts the command without waiting for it, and ends one that takes more than kCommandSeconds.
  // Returns a line to be shown; mostly empty.
  [[nodiscard]] std::string Look(const Core& core, double monotonic);
  // Call when the run ends: ends a command that still runs. Returns as Look does.
  [[nodiscard]] std::string End(double monotonic);

 private:
  [[nodiscard]] std::string Tell(const Core& core, double silent_seconds, double monotonic);
  [[nodiscard]] std::string FollowCommand(double monotonic);

  StallRule rule_;
  std::optional<double> told_of_;  // monotonic time of the newest step, when a stall was told
  std::optional<ShellCommand> running_;
  double started_ = 0;  // monotonic; of the command that runs
};

}  // namespace retort::orchestrator
