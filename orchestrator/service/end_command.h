// The command that a user wants to be run when a sweep has ended: `retort run --on-end CMD`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/service/shell_command.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

struct SweepEnd {
  std::string sweep;
  std::string results;  // absolute
  // "succeeded", "failed": some trials did not; "quota": some were left out; "error": the run failed; "stalled": it has
  // not ended, and gets nowhere.
  std::string outcome;
  std::string message;           // of an error or a stall; else empty
  std::optional<int> exit_code;  // of the run; none before it has ended
  std::int64_t trials = 0;
  std::int64_t succeeded = 0, failed = 0, not_run = 0, cancelled = 0;  // not_run: for a teacher that failed
  std::string digest;  // tells this end from every other of the folder; empty: it is none of a sweep, as of an error
};

// How the sweep in `view` ended, whose run gave `exit_code`, 0 or 1.
[[nodiscard]] SweepEnd DescribeEnd(const ResultsView& view, int exit_code);

// Whether nobody was told of this end yet. It counts as told from then on, durably (RESULTS/told): a run that has
// nothing left to do tells nobody again. Trials that were retried, or added, make another end. True for an end without
// a digest. Error: environment; who tells then tells perhaps twice.
[[nodiscard]] Result<bool> ClaimEnd(storage::Env& env, const SweepEnd& end);

// The variables that the command gets besides `environment` ("NAME=value"), which it replaces where they are there.
[[nodiscard]] std::vector<std::string> MakeEndEnvironment(const SweepEnd& end,
                                                          const std::vector<std::string>& environment);

// Runs `/bin/sh -c COMMAND` with that environment, nothing on its stdin, and its stdout on this process's stderr, and
// waits for it; after `max_seconds` it is killed, with all that it has started and that has not left its process group.
// Error: environment, saying how it ended unless that was with exit code 0. What it does changes nothing of the sweep.
[[nodiscard]] Status RunEndCommand(const std::string& command, const SweepEnd& end,
                                   const std::vector<std::string>& environment, double max_seconds = kCommandSeconds);

}  // namespace retort::orchestrator
