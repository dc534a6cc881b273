// What `retort table --complete` runs.
#pragma once

#include <cstddef>
#include <vector>

#include "experiments/spec/sweep.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

struct Completion {
  SweepPlan plan;           // what has ended for good, what is missing in the tables, and the teachers that it needs
  std::size_t missing = 0;  // students among them that have not ended
  std::size_t failed = 0;   // students of the tables that ended without a result
};

// A trial that a full disk ended counts as missing, since a run tries it again.
[[nodiscard]] Completion CompletionOf(const SweepPlan& plan, const std::vector<TableSpec>& tables,
                                      const ResultsView& view);

}  // namespace retort::orchestrator::cli
