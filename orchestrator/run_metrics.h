// The metrics of a running sweep.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "monitoring/metrics.h"
#include "orchestrator/core.h"
#include "orchestrator/live_estimate.h"

namespace retort::orchestrator {

// What the core does not know.
struct RunFacts {
  std::string version = {}, commit = {};
  Now started;
  std::uint64_t journal_bytes = 0, ledger_bytes = 0;
  std::uint64_t malformed = 0;  // frames of this rank's workers and of the channel
  std::optional<std::uint64_t> free_bytes = {};  // of the results folder's file system; absent where unknown
};

// Computes epsilon totals only when a charge has changed, and then at most each kEpsilonSeconds: they cost
// more than everything else.
class RunMetrics {
 public:
  // `fresh`: epsilon totals as of now, whatever they cost.
  [[nodiscard]] monitoring::MetricValues Collect(const Core& core, const RunFacts& facts, Now now,
                                                 bool fresh);

 private:
  static constexpr double kEpsilonSeconds = 10;
  void CollectEpsilon(const Core& core, Now now);
  LiveEstimate estimate_;
  std::optional<std::uint64_t> charges_version_;  // that the totals belong to
  double next_epsilon_ = 0;                       // monotonic
  std::map<std::string, double> spent_;           // by data set name
  std::map<std::string, double> budget_;
};

}  // namespace retort::orchestrator
