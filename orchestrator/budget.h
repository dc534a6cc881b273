// The hard cap on what one private data set may cost over a whole results root.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/trial_spec.h"
#include "orchestrator/charge_book.h"

namespace retort::orchestrator {

// That another sweep of the results root sets for the same data.
struct OtherBudget {
  std::string directory;  // of that sweep
  Budget budget;
};

// Why `event` may not be drawn, or nothing when the total with it stays within
// data.budget and all of `others` (always so without any). What `counts` leaves of all that was charged to
// the data set's digest (empty: everything), trials that are out of the plan included, counts, and what
// other sweeps of the results root charged to it. An unbounded event crosses every cap.
[[nodiscard]] std::optional<std::string> RefuseOverBudget(
    const ChargeBook& charges, const DataSpec& data, const privacy::PrivacyEvent& event,
    const ChargeBook::Counts& counts = {}, const std::vector<privacy::PrivacyEvent>& elsewhere = {},
    const std::vector<OtherBudget>& others = {});

}  // namespace retort::orchestrator
