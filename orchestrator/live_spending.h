// What each private data set of a running sweep has cost, for those who watch it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/core.h"
#include "orchestrator/spending.h"

namespace retort::orchestrator {

// What SpendingOf (spending.h) is told by a run. Borrows `core`.
[[nodiscard]] SpendingFacts SpendingFactsOf(const Core& core);

// Makes it anew when a charge or an audit has changed, so rarely that it takes hardly any of the orchestrator's time.
class LiveSpending {
 public:
  static constexpr double kPauseSeconds = 5;
  static constexpr double kPauseFactor = 200;  // times what the last one took

  [[nodiscard]] const std::vector<DataSpending>& Of(const Core& core, Now now);

 private:
  std::vector<DataSpending> newest_;
  std::optional<std::uint64_t> version_;  // of the charges that it belongs to
  std::map<TrialId, std::string> audit_voids_;  // likewise
  double next_ = 0;                       // monotonic
};

}  // namespace retort::orchestrator
