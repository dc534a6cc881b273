// The rounds of a sweep that searches: when every trial has ended, or of asha when a slot is free, what was measured
// decides which trials come next.
#pragma once

#include <functional>

#include "experiments/base/status.h"
#include "experiments/sweep/search_points.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"

namespace retort::orchestrator {

// Plans the sweep with all that its search suggests after `history`. Deterministic.
using PlanSearch = std::function<Result<SweepPlan>(const SearchHistory& history)>;

// Adds how a trial stands to `history`. `row`: null before it has one.
void NoteOutcome(const TrialSpec& spec, bool planned, bool ended, const storage::ResultRow* row,
                 SearchHistory& history);
// What the journal has of the search; room for one more where all that is planned has ended. Error: damage, for a row
// that cannot be read.
[[nodiscard]] Result<SearchHistory> CollectHistory(const Core& core);

// Call it after OnTick. Where all trials have ended and more may come, it adds the next round, or lets the sweep end
// where there is none, and does what is due then. asha is asked once for each free slot, and again where it had nothing
// for one when a trial has ended. Suggestions are in the journal, in the order in which they were decided, before any
// of them is leased: the outbox is committed before its messages go. Value: trials that were added. Error: of `plan`
// and ExtendSweep.
[[nodiscard]] Result<std::size_t> ContinueSearch(Core& core, const PlanSearch& plan, Now now, Outbox& outbox);

}  // namespace retort::orchestrator
