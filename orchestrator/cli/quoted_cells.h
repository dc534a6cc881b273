// Values that a paper prints for methods which the sweep does not run, as cells of their own.
#pragma once

#include <vector>

#include "orchestrator/cli/result_table.h"

namespace retort::orchestrator::cli {

// One cell for each published value of a data set of the sweep that no measured cell stands beside. Its claim
// is what the paper claims, marked as a formula and as quoted. None when the table's keys leave no place for
// a data set, or its columns ask for more than data set and epsilon. `cells` are the measured ones.
[[nodiscard]] std::vector<TableCell> QuotedCells(const SweepPlan& plan, const TableSpec& spec,
                                                 const std::vector<PublishedValue>& published,
                                                 const std::vector<TableCell>& cells);

}  // namespace retort::orchestrator::cli
