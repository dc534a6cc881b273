// Loads a sweep file: its data sets are inspected, and its epsilon axes calibrated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/cli/commands/console.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

struct LoadRequest {
  std::string path;  // or the name of a shipped sweep (shipped_sweeps.h)
  std::vector<std::string> overrides;
  std::string profile;
  bool runs = false;                // packed data is unpacked and checked, whatever the sweep says
  bool data_may_be_absent = false;  // missing files are a warning, and the set counts as published
};

struct LoadedSweep {
  std::optional<SweepPlan> plan;
  std::vector<Diagnostic> errors;       // why there is none
  std::vector<Diagnostic> absent;       // data sets whose files are missing, where they may be
  StatusCode code = StatusCode::usage;  // environment when only data files are at fault
};

// Unless it `runs`, packed data is unpacked only for sweeps in which it matters: of several data sets, or with a
// budget.
[[nodiscard]] LoadedSweep LoadWithData(storage::Env& env, const LoadRequest& request);

// Adds a warning for each budget of another sweep that binds this one in the folder `results`, and for each data set,
// here or there, that shares examples with one of its own; or one that says why they are not known.
void AddBudgetWarnings(storage::Env& env, const std::string& results, SweepPlan& plan);

}  // namespace retort::orchestrator::cli
