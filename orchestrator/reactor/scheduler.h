// Chooses which queued trial runs on which slots, and leases them.
#pragma once

#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"

namespace retort::orchestrator {

struct Placement {
  TrialId trial;
  std::vector<Seat> seats;  // in gang-rank order, as many as the trial's devices
};

// Fills the free slots with queued trials, by priority and then plan order, leaving out those whose
// back-off has not passed, those that the quota keeps back, and those that would save nothing before the run
// has to stop (admission.h). A gang gets all its slots at once, on one host where one has enough. The first
// gang that finds too few keeps those that it will need free; later trials fill only the others, so that it
// starts when enough of what runs now has ended. Pure; changes nothing.
[[nodiscard]] std::vector<Placement> Schedule(const Core& core, Now now);
// Returns how many slots are free that no trial of the plan is to have, whether it is queued or waits for its teacher,
// and that the quota leaves to a new one. 0 while one is queued whose back-off has passed.
[[nodiscard]] std::size_t CountIdleSlots(const Core& core, Now now);
// Leases the queued trials that Schedule places: attempts begin, and their agents are told.
void LeaseQueued(Core& core, Now now, Outbox& outbox);
// Once every agent has registered: error usage for a trial that asks for more devices than there are, with
// both numbers.
[[nodiscard]] Status CheckPlaceable(const Core& core);
// The same for a plan that one agent with so many devices is to run.
[[nodiscard]] Status CheckPlaceable(const SweepPlan& plan, int devices);
// Returns the next moment, in Unix seconds, at which a back-off passes; 0 when none is pending.
[[nodiscard]] double FindNextRetry(const Core& core, Now now);

}  // namespace retort::orchestrator
