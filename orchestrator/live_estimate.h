// How long a running sweep still takes, for those who watch it.
#pragma once

#include <cstddef>
#include <optional>

#include "orchestrator/core.h"
#include "orchestrator/sweep_estimate.h"

namespace retort::orchestrator {

// From what has been measured so far, on the devices that there are now. Nothing while a cost is unknown, or
// when more than `most` trials are left: then `retort status` says it, which has the time.
[[nodiscard]] std::optional<SweepEstimate> EstimateRun(const Core& core, Now now, std::size_t most);

// Makes it anew now and then, so rarely that it takes hardly any of the orchestrator's time.
class LiveEstimate {
 public:
  static constexpr double kPauseSeconds = 5;
  static constexpr double kPauseFactor = 200;  // times what the last one took
  static constexpr std::size_t kMostTrials = 5'000;

  [[nodiscard]] const std::optional<SweepEstimate>& Of(const Core& core, Now now);

 private:
  std::optional<SweepEstimate> newest_;
  double next_ = 0;  // monotonic
};

}  // namespace retort::orchestrator
