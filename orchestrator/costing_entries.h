// Which entries of a ledger cost their data set something.
#pragma once

#include <vector>

#include "orchestrator/results_view.h"

namespace retort::orchestrator {

// Without those of students of a privately trained teacher: what is made from its answers costs nothing
// beyond its training, which is charged by itself.
[[nodiscard]] std::vector<storage::LedgerEntry> CostingEntries(const ResultsView& view);

}  // namespace retort::orchestrator
