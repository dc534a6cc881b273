// Whether a queued trial may start now: the quota of the sweep, the time until the run has to stop, and the devices
// that the run has. A refusal is a reason for people; empty when nothing speaks against a start. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/base/status.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/cost_model.h"

namespace retort::orchestrator {

// As RefuseByQuota (quota.h); always empty for a sweep without a quota.
[[nodiscard]] std::string RefuseByQuota(const Core& core, TrialId trial, Now now, std::int64_t starting = 0,
                                        std::int64_t starting_new = 0);
// Returns why the run has to end though trials are left: wall clock or device-hours are used up, or nothing runs and
// the quota refuses every queued trial. Empty while the run may go on.
[[nodiscard]] std::string FindQuotaStop(const Core& core, Now now);

// Time: a trial starts only if it reaches a checkpoint or its end before the run has to stop.

// Returns the seconds from its start until a trial commits something new or ends: start-up, and whatever comes first of
// `checkpoint_every` (at most one step late), `checkpoint_steps` and what is left. `done`: fraction of its steps that a
// checkpoint holds. Nothing when its cost is unknown.
[[nodiscard]] std::optional<double> ComputeSecondsToCheckpoint(const CostModel& costs, const TrialSpec& spec,
                                                               const TrialSpec* teacher, double done);
// Returns the fraction of the trial's steps that are done, by the newest journaled progress.
[[nodiscard]] double ComputeFractionDone(std::int64_t step, std::int64_t total_steps);
// Returns why a trial may not start with `left` seconds to go, for people: "its next checkpoint is 40 s away, and the
// run stops in 12 s"; empty when it may. Without a known cost it may.
[[nodiscard]] std::string RefuseByTime(std::optional<double> to_checkpoint, double left);
// The same for a trial of the core; always empty when the run has no end.
[[nodiscard]] std::string RefuseByTime(const Core& core, const Trial& trial, Now now);
// Returns why the run has to end before its time: nothing runs, and no queued trial fits. Empty while the run may go
// on.
[[nodiscard]] std::string FindTimeStop(const Core& core, Now now);

// Devices: trials may ask for more than the run has.

// How long agents that fell silent may take to come back, once nothing else can run.
inline constexpr double kDeadlockSeconds = 60;

// Checks that the run has devices enough for the trial and for the trials that wait for it. Silent agents count,
// drained slots do not; before all agents have registered the check passes. Error: refused, with both numbers.
[[nodiscard]] Status CheckEnoughDevices(const Core& core, const Trial& trial);
// Returns why nothing can start: nothing runs, and what is queued asks for more devices than there are now, or is
// refused by quota or time. Empty while anything can start, and where quota or time alone are the cause (FindQuotaStop,
// FindTimeStop).
[[nodiscard]] std::string FindDeadlock(const Core& core, Now now);

}  // namespace retort::orchestrator
