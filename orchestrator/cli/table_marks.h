// Which cells of a table are the best of those that compare.
#pragma once

#include "orchestrator/cli/result_table.h"

namespace retort::orchestrator::cli {

// 1: more is better (accuracies); -1: less is (losses, seconds, parameters); 0: not known, nothing is best.
[[nodiscard]] int BetterDirection(const std::string& metric);

// Sets `best` of measured cells and `best_published` of published values. Cells compare that stand in the same column,
// are of the same data set and were asked for the same epsilon; those whose epsilon for an example is proven compare
// among themselves. Where there is nothing to compare with, nothing is best; values that read the same, all are.
void MarkBest(ResultTable& table);

}  // namespace retort::orchestrator::cli
