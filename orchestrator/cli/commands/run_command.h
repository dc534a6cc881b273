// What `run` and `table --complete` have in common.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/service/service.h"

namespace retort::orchestrator::cli {

// What to type after a run.
struct RunEnding {
  int code = 0;           // that RunSweep returned
  bool all_ended = true;  // every trial is final; false beside code 1: the quota is spent
  std::string sweep;      // the sweep file
  std::string results;    // the results folder
  std::string table;      // the command that prints the sweep's table
};

// One line, which begins with "next: ".
[[nodiscard]] std::string DescribeNextStep(const RunEnding& ending);

// --oversubscribe-gpu, added to `command`.
void AddOversubscription(CLI::App& command, CommandLine& line);
// Options of a run, added to `command`.
void AddRunOptions(CLI::App& command, CommandLine& line, RawWords& words);
// Of the command line and the environment; the results folder is left out.
[[nodiscard]] RunOptions ReadRunOptions(const Invocation& call);

// Stops the run in time for the end of the allocation that it is in, if any. A value is the exit code of a run that has
// nothing left to start.
[[nodiscard]] std::optional<int> LimitToAllocation(const Invocation& call, RunOptions& options);

}  // namespace retort::orchestrator::cli
