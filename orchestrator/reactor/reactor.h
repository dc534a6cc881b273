// Reacts to what happens in a run. Pure: each function takes the core, what happened and when, changes the core, and
// adds to the outbox what has to be made durable and sent. Events in the outbox are applied to the core already;
// messages rely on them and go only once they are on disk.
#pragma once

#include <string>

#include "cluster/messages.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"

namespace retort::orchestrator {

inline constexpr double kAgentSilenceSeconds = 3 * kHeartbeatSeconds;  // then it is lost
inline constexpr double kProgressNoteSeconds = 15;

// Makes `plan` the sweep of a core that was recovered from the journal or is new. Trials that are
// finished stay so. Error: usage for a plan that this version cannot run, or of another sweep name.
[[nodiscard]] Status OpenSweep(Core& core, const SweepPlan& plan, Now now, Outbox& outbox);

// Adds the trials of `plan` that the sweep has not, and keeps all that it has. Those that an earlier plan knew are
// planned anew, with the suggestion that they belong to now. REQUIRES: the sweep was opened. Error: as OpenSweep;
// refused, for a plan that lacks one; nothing has changed then.
[[nodiscard]] Status ExtendSweep(Core& core, const SweepPlan& plan, Now now, Outbox& outbox);

// A message from the agent of `from`, its own or forwarded from a worker. What belongs to an attempt or
// generation that is over is dropped and counted.
void OnMessage(Core& core, WorldRank from, const cluster::Envelope& envelope, Now now, Outbox& outbox);
// The ledger holds the reservation durably, as entry `entry`.
void OnLedgerReserved(Core& core, const LedgerReserve& reserve, std::uint64_t entry, Outbox& outbox);
// The user, the batch system or the time limit asks the sweep to end. A second call changes nothing.
void OnStopRequested(Core& core, const std::string& cause, double grace_seconds, Now now, Outbox& outbox);
// Call before every batch of the above: a process that did not run for a while (stopped, or the machine slept)
// would find every agent silent; the gap is left out of all
// deadlines.
void OnWake(Core& core, Now now);
// Call after every batch of the above and when NextDeadline has passed: lost agents, silent attempts,
// owed rows, leases, and the end of the run,
// also where nothing can start any more (FindDeadlock).
void OnTick(Core& core, Now now, Outbox& outbox);
// Monotonic time at which OnTick has something to do though nothing happens; infinity when never.
[[nodiscard]] double FindNextDeadline(const Core& core, Now now);

// 0 all planned trials succeeded (or were cancelled by the user), 1 some failed or the quota leaves some
// out, 3 some failed and all of those by the disk, 75 some are left.
[[nodiscard]] int ChooseSweepExitCode(const Core& core);

}  // namespace retort::orchestrator
