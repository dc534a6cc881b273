// Trials that ask for more devices than the run has. Pure.
#pragma once

#include <string>

#include "experiments/spec/status.h"
#include "orchestrator/core.h"

namespace retort::orchestrator {

// For agents that fell silent to come back, once nothing else can run.
inline constexpr double kDeadEndSeconds = 60;

// May the trial, and what waits for it, be queued in the run that goes on? Agents that are silent count,
// drained slots do not; before all agents are there nobody knows. Error: refused, with both numbers.
[[nodiscard]] Status CheckRoom(const Core& core, const Trial& trial);
// Why nothing can start: nothing runs, and what is queued asks for more devices than there are now, or is
// kept back by quota or time. Empty while anything can, and when quota or time alone are the cause
// (quota_gate.h, time_fit.h).
[[nodiscard]] std::string DeadEnd(const Core& core, Now now);

}  // namespace retort::orchestrator
