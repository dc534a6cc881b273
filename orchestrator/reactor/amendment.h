// What a user changes about single trials of a sweep: retry or cancel.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "orchestrator/core/amend_request.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"

namespace retort::orchestrator {

// Checks what Amend checks. Error: refused, naming trial and reason.
[[nodiscard]] Status CheckAmendment(const Core& core, Amendment amendment, const std::vector<TrialId>& trials);

// Pure, as the reactor's functions are. All of `trials`, which are known, or none; of those to cancel none has an
// attempt on a device (OnAmendRequest ends it first):
//   retry   failed and cancelled trials are queued again, their failure counts forgotten; a parent-failed one
//           comes back with its teacher, and alone is refused, naming the teacher
//   cancel  trials that have not ended, and parent-failed ones; students of a cancelled teacher are
//           parent-failed
// Returns the trials that changed, those that came along included, in plan order; what is already as asked
// for is no error. Error: refused, naming trial and reason; the core is unchanged then. Rows of what ended
// by this are written.
[[nodiscard]] Result<std::vector<TrialId>> Amend(Core& core, Amendment amendment, const std::vector<TrialId>& trials,
                                                 Now now, Outbox& outbox);

// Returns the planned trials that failed, in plan order.
[[nodiscard]] std::vector<TrialId> ListFailedTrials(const Core& core);
// Returns those of them whose last attempt ended by FailureKind::disk.
[[nodiscard]] std::vector<TrialId> ListFailedByDisk(const Core& core);

// The same while the sweep runs.

// As Amend, for all trials of the request or none. Those to be cancelled that have a device are told to save
// and stop, in at most `grace_seconds`; they are cancelled when their attempt has ended, and a success or a
// failure that came first stands. The same request twice changes nothing more. The outbox gets an answer
// under `name`: refused, done, or saving; after saving, done follows from FinishCancels.
void OnAmendRequest(Core& core, const std::string& name, const AmendRequest& request, double grace_seconds, Now now,
                    Outbox& outbox);
// Cancels the trials of open requests whose attempts have ended. Call it at every tick, before anything is leased.
void FinishCancels(Core& core, Now now, Outbox& outbox);

}  // namespace retort::orchestrator
