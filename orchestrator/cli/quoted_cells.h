// Values that a paper prints and that no measured cell stands beside, as cells of their own.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cli/published_join.h"
#include "orchestrator/cli/result_table.h"
#include "orchestrator/cli/table_trials.h"

namespace retort::orchestrator::cli {

// A published value, and the data set beside whose cells it stands already.
using ShownValue = std::pair<const PublishedValue*, std::string>;

// One cell for each published value of a data set of the sweep that is not among `shown`. Its claim is what the paper
// claims, marked as a formula and as quoted. Keys of the table that the value says nothing about stay empty in a row; a
// value that leaves a column empty has no place. `students`: those of the table.
[[nodiscard]] std::vector<TableCell> QuotedCells(const SweepPlan& plan, const TableSpec& spec,
                                                 const PublishedJoiner& joiner,
                                                 const TrialPointers& students,
                                                 const std::set<ShownValue>& shown);

}  // namespace retort::orchestrator::cli
