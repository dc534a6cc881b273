// The metrics of a running sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/base/status.h"
#include "monitoring/metrics.h"
#include "orchestrator/core/core.h"
#include "orchestrator/screen/live_facts.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

// What metrics show and the core does not know.
struct RunFacts {
  std::string version = {}, commit = {};
  Now started;
  std::uint64_t journal_bytes = 0, ledger_bytes = 0;
  std::uint64_t malformed = 0;                   // frames of this rank's workers and of the channel
  std::optional<std::uint64_t> free_bytes = {};  // of the results folder's file system; absent where unknown
};

class RunMetrics {
 public:
  // Returns all metrics. `fresh`: computes epsilon totals anew, however long that takes.
  [[nodiscard]] monitoring::MetricValues Collect(const Core& core, const RunFacts& facts, Now now, bool fresh);

 private:
  LiveEstimate estimate_;
  LiveSpending spending_;
};

// The spent epsilons in the metrics file of a folder where nothing runs.

// Writes RESULTS/metrics.prom again with what `core`, whose surroundings are known, has spent; the rest of it stays as
// the last run left it. Does nothing where there is none. The caller holds the folder's lock. Error: environment.
[[nodiscard]] Status RepublishSpending(storage::Env& env, const Core& core);
// The same where a run is refused since the ledger has lost something, or is damaged: nothing finite is left. A journal
// that cannot be read leaves the file as it is.
[[nodiscard]] Status RepublishLostSpending(storage::Env& env, const std::string& results);

}  // namespace retort::orchestrator
