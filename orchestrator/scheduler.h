// Which queued trial goes where.
#pragma once

#include <vector>

#include "experiments/spec/sweep.h"
#include "orchestrator/core.h"

namespace retort::orchestrator {

struct Placement {
  TrialId trial;
  std::vector<Seat> seats;  // in gang-rank order, as many as the trial's devices
};

// Fills the free slots with queued trials, by priority and then plan order, leaving out those whose
// back-off has not passed, those that the quota keeps back, and those that would save nothing before the run
// has to stop (time_fit.h). A gang gets all its slots at once, on one host where one has enough. The first
// gang that finds too few keeps those that it will need free; later trials fill only the others, so that it
// starts when enough of what runs now has ended. Pure; changes nothing.
[[nodiscard]] std::vector<Placement> Schedule(const Core& core, Now now);
// Once every agent has registered: error usage for a trial that asks for more devices than there are, with
// both numbers.
[[nodiscard]] Status CheckPlaceable(const Core& core);
// The same of a plan that one agent with so many devices is to run.
[[nodiscard]] Status CheckPlaceable(const SweepPlan& plan, int devices);
// The next moment, in unix seconds, at which a back-off passes; 0 when none is pending.
[[nodiscard]] double NextRetry(const Core& core, Now now);

}  // namespace retort::orchestrator
