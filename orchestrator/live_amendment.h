// Reactor: what a user asks of a sweep while it runs.
#pragma once

#include <string>

#include "orchestrator/amend_request.h"
#include "orchestrator/core.h"
#include "orchestrator/outbox.h"

namespace retort::orchestrator {

// As Amend, for all trials of the request or none. Those to be cancelled that have a device are told to save
// and stop, in at most `grace_seconds`; they are cancelled when their attempt has ended, and a success or a
// failure that came first stands. The same request twice changes nothing more. The outbox gets an answer
// under `name`: refused, done, or saving; after saving, done follows from FinishCancels.
void OnAmendRequest(Core& core, const std::string& name, const AmendRequest& request, double grace_seconds,
                    Now now, Outbox& outbox);
// Of every tick, before anything is leased.
void FinishCancels(Core& core, Now now, Outbox& outbox);

}  // namespace retort::orchestrator
