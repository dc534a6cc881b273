// Whether a trial that starts now gets anywhere before the run has to stop. Pure.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/core.h"
#include "orchestrator/cost_model.h"

namespace retort::orchestrator {

// Seconds from its start until a trial has committed something new or ended: start-up, and whatever comes
// first of `checkpoint_every` (at most one step late), `checkpoint_steps` and what is left. `done`: fraction
// of its steps that a checkpoint holds. Nothing when its cost is unknown.
[[nodiscard]] std::optional<double> SecondsToCheckpoint(const CostModel& costs, const TrialSpec& spec,
                                                        const TrialSpec* teacher, double done);
// Fraction of the trial's steps that are behind it, by the newest journaled progress.
[[nodiscard]] double FractionDone(std::int64_t step, std::int64_t total_steps);
// Why a trial may not start with `left` seconds to go, for people: "its next checkpoint is 40 s away, and the
// run stops in 12 s"; empty when it may. Without a known cost it may.
[[nodiscard]] std::string RefuseByTime(std::optional<double> to_checkpoint, double left);
// The same for a trial of the core; always empty when the run has no end.
[[nodiscard]] std::string TimeRefusal(const Core& core, const Trial& trial, Now now);
// Why the run has to end before its time: nothing runs, and of what is queued nothing fits. Empty while it
// may go on.
[[nodiscard]] std::string TimeStop(const Core& core, Now now);

}  // namespace retort::orchestrator
