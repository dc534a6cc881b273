// Which queued trial goes where.
#pragma once

#include <vector>

#include "orchestrator/core.h"

namespace retort::orchestrator {

struct Placement {
  TrialId trial;
  Seat seat;
};

// Fills the free slots with queued trials, by priority and then plan order, leaving out those whose
// back-off has not passed. Pure; changes nothing.
[[nodiscard]] std::vector<Placement> Schedule(const Core& core, Now now);
// The next moment, in unix seconds, at which a back-off passes; 0 when none is pending.
[[nodiscard]] double NextRetry(const Core& core, Now now);

}  // namespace retort::orchestrator
