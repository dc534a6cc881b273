// Loads a sweep file: its data sets are inspected, and its epsilon axes calibrated.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/cli/commands/console.h"
#include "orchestrator/reactor/search_rounds.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

// What rows were measured on: taken for what is absent.
struct RecordedInputs {
  std::vector<DataSpec> data;                  // for sets of the same names and readers
  std::map<std::string, std::string> weights;  // SHA-256 of teachers' files, by the last names of their paths
};

struct LoadRequest {
  std::string path;  // or the name of a shipped sweep (shipped_sweeps.h)
  std::vector<std::string> overrides;
  std::string profile;
  bool runs = false;                // packed data is unpacked and checked, whatever the sweep says
  bool data_may_be_absent = false;  // missing files are a warning, and the set counts as published
  std::string results = {};  // --results: where a search that reads scores finds them; empty: by the sweep's name
  RecordedInputs recorded = {};
};

struct LoadedSweep {
  std::optional<SweepPlan> plan;
  std::vector<Diagnostic> errors;       // why there is none
  std::vector<Diagnostic> absent;       // data sets whose files are missing, where they may be
  StatusCode code = StatusCode::usage;  // environment when only data files are at fault
  std::string text;                     // of the file, as it was read
};

// Unless it `runs`, packed data is unpacked only for sweeps in which it matters: of several data sets, or with a
// budget.
// A search that reads scores is planned as far as those in its results folder, where there is one, say.
[[nodiscard]] LoadedSweep LoadWithData(storage::Env& env, const LoadRequest& request);

// Plans the sweep again while it runs, from the text that was `loaded` by `request`. Null where no search reads scores.
// Borrows `env`.
[[nodiscard]] PlanSearch MakePlanSearch(storage::Env& env, const LoadRequest& request, const LoadedSweep& loaded);

// Adds a warning for each budget of another sweep that binds this one in the folder `results`, and for each data set,
// here or there, that shares examples with one of its own; or one that says why they are not known.
void AddBudgetWarnings(storage::Env& env, const std::string& results, SweepPlan& plan);

}  // namespace retort::orchestrator::cli
