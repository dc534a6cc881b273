// Which trials a table is of, and by which keys it tells them apart.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/sweep.h"

namespace retort::orchestrator::cli {

using TrialPointers = std::vector<const TrialSpec*>;  // owned by the plan, in its order

// Students that fit the table's `where`.
[[nodiscard]] TrialPointers StudentsOf(const SweepPlan& plan, const TableSpec& table);
// The same and their teachers; every teacher of the plan where the table has no `where`.
[[nodiscard]] TrialPointers TrialsOf(const SweepPlan& plan, const TableSpec& table);

// What a table says of the trial's key: SpecField, but nothing for an epsilon of 0, which means that none was asked
// for and must not read as one that holds.
[[nodiscard]] std::string TableValue(const TrialSpec& spec, const std::string& key);
// Those of several keys, in their order; empty where one does not apply.
[[nodiscard]] std::vector<std::string> ValuesOf(const TrialSpec& spec, const std::vector<std::string>& keys);

// Everything that tells two teachers apart, but for the seed.
[[nodiscard]] std::vector<std::string> TeacherKey(const TrialSpec& spec);

// With each axis as a row key along which a cell would hold trials that differ in more than their seed.
[[nodiscard]] TableSpec WithEveryAxis(const TrialPointers& trials, TableSpec table);

}  // namespace retort::orchestrator::cli
