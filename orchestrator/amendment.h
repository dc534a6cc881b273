// What a user changes about single trials of a sweep: try again, or never mind.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "orchestrator/amend_request.h"
#include "orchestrator/core.h"
#include "orchestrator/outbox.h"

namespace retort::orchestrator {

// Why Amend would refuse. Error: refused, naming trial and reason.
[[nodiscard]] Status CheckAmendment(const Core& core, Amendment amendment, const std::vector<TrialId>& trials);

// Pure, as the reactor's functions are. All of `trials`, which are known, or none; of those to cancel none has an
// attempt on a device (live_amendment.h ends it first):
//   retry   failed and cancelled trials are queued again, their failure counts forgotten; a parent-failed one
//           comes back with its teacher, and alone is refused, naming the teacher
//   cancel  trials that have not ended, and parent-failed ones; students of a cancelled teacher are
//           parent-failed
// Returns the trials that changed, those that came along included, in plan order; what is already as asked
// for is no error. Error: refused, naming trial and reason; the core is unchanged then. Rows of what ended
// by this are written.
[[nodiscard]] Result<std::vector<TrialId>> Amend(Core& core, Amendment amendment,
                                                 const std::vector<TrialId>& trials, Now now, Outbox& outbox);

// Planned trials that failed, in plan order.
[[nodiscard]] std::vector<TrialId> FailedTrials(const Core& core);
// Those of them whose last attempt ended by FailureKind::disk.
[[nodiscard]] std::vector<TrialId> FailedByDisk(const Core& core);

}  // namespace retort::orchestrator
