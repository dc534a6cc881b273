// The metrics of a running sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "monitoring/metrics.h"
#include "orchestrator/core.h"
#include "orchestrator/live_estimate.h"
#include "orchestrator/live_spending.h"

namespace retort::orchestrator {

// What the core does not know.
struct RunFacts {
  std::string version = {}, commit = {};
  Now started;
  std::uint64_t journal_bytes = 0, ledger_bytes = 0;
  std::uint64_t malformed = 0;  // frames of this rank's workers and of the channel
  std::optional<std::uint64_t> free_bytes = {};  // of the results folder's file system; absent where unknown
};

// The epsilon of each data set, its delta and its budget, beside what is in `values`.
void CollectSpending(const std::vector<DataSpending>& spending, monitoring::MetricValues& values);

class RunMetrics {
 public:
  // `fresh`: epsilon totals as of now, whatever they cost.
  [[nodiscard]] monitoring::MetricValues Collect(const Core& core, const RunFacts& facts, Now now,
                                                 bool fresh);

 private:
  LiveEstimate estimate_;
  LiveSpending spending_;
};

}  // namespace retort::orchestrator
