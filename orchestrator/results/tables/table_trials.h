// Finds the trials of a table, the keys by which it tells them apart, and the trials that it lacks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator {

using TrialPointers = std::vector<const TrialSpec*>;  // owned by the plan, in its order

// Students that fit the table's `where`.
[[nodiscard]] TrialPointers FindStudents(const SweepPlan& plan, const TableSpec& table);
// The same and their teachers; every teacher of the plan where the table has no `where`.
[[nodiscard]] TrialPointers FindTrials(const SweepPlan& plan, const TableSpec& table);

// What a table says of the trial's key: FindSpecField, but nothing for an epsilon of 0, which means that none was asked
// for and must not read as one that holds.
[[nodiscard]] std::string FormatTableValue(const TrialSpec& spec, const std::string& key);
// Those of several keys, in their order; empty where one does not apply.
[[nodiscard]] std::vector<std::string> ListValues(const TrialSpec& spec, const std::vector<std::string>& keys);

// Everything that tells two teachers apart, but for the seed.
[[nodiscard]] std::vector<std::string> MakeTeacherKey(const TrialSpec& spec);

// With each axis as a row key along which a cell would hold trials that differ in more than their seed.
[[nodiscard]] TableSpec AddUnplacedAxes(const TrialPointers& trials, TableSpec table);

// What `retort table --complete` runs.

struct Completion {
  SweepPlan plan;           // what has ended for good, what is missing in the tables, and the teachers that it needs
  std::size_t missing = 0;  // students among them that have not ended
  std::size_t failed = 0;   // students of the tables that ended without a result
};

// A trial that a full disk ended counts as missing, since a run tries it again.
[[nodiscard]] Completion PlanCompletion(const SweepPlan& plan, const std::vector<TableSpec>& tables,
                                        const ResultsView& view);

}  // namespace retort::orchestrator
