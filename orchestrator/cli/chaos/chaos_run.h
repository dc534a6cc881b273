// Runs `retort chaos`: a sweep once undisturbed, then under a plan of disturbances, then compared.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/cli/chaos/chaos_plan.h"
#include "orchestrator/cli/chaos/chaos_verdict.h"
#include "orchestrator/service/service.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

struct ChaosOrder {
  std::vector<std::string> launcher;  // words before the program, as of mpirun.sh; empty = none
  std::string program;                // `retort`
  std::vector<std::string> run;       // "run", the sweep, its overrides; --results is added
  std::string directory;              // absolute: `undisturbed` and `round-<n>` are made in it
  RunOptions options;                 // for amending a folder
  std::uint64_t seed = 0;
  int kills = 0;
  double pace = 0;  // seconds between two disturbances in the mean; 0 = from the undisturbed run
};

struct ChaosReport {
  std::array<int, kDisturbanceKinds> done{};  // by DisturbanceKind
  int rounds = 0;          // folders: a sweep that ended before the plan did is run again from nothing
  int runs = 0;            // of `retort run` on them
  int full_disk_ends = 0;  // runs that ended because nothing more could be written
  int retried = 0;         // trials that used up their attempts and were queued again by `retort retry`
  double undisturbed_seconds = 0, seconds = 0;
  double pace = 0;
  ChaosVerdict verdict;
};

// `say` is told what happens, a line at a time. Every process it started is gone when it returns. Error:
// environment, when the undisturbed run does not succeed or a disturbed one does not end; the folders and
// their chaos.log stay.
[[nodiscard]] Result<ChaosReport> RunChaos(storage::Env& env, const ChaosOrder& order,
                                           const std::function<void(const std::string&)>& say);

}  // namespace retort::orchestrator::cli
