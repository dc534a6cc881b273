// What each private data set of a running sweep has cost, for those who watch it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orchestrator/core.h"
#include "orchestrator/live_layout.h"

namespace retort::orchestrator {

// Of the plan's data sets, each once under all of its names. What other sweeps of the root charged counts where a budget
// counts it, and the tightest budget is shown.
[[nodiscard]] std::vector<DataCost> SpendingOf(const Core& core);

// Makes it anew when a charge has changed, so rarely that it takes hardly any of the orchestrator's time.
class LiveSpending {
 public:
  static constexpr double kPauseSeconds = 5;
  static constexpr double kPauseFactor = 200;  // times what the last one took

  [[nodiscard]] const std::vector<DataCost>& Of(const Core& core, Now now);

 private:
  std::vector<DataCost> newest_;
  std::optional<std::uint64_t> version_;  // of the charges that it belongs to
  double next_ = 0;                       // monotonic
};

}  // namespace retort::orchestrator
