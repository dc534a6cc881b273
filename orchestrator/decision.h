// Steps that several reactor functions share.
#pragma once

#include <string>
#include <utility>

#include "cluster/envelope.h"
#include "orchestrator/core.h"
#include "orchestrator/outbox.h"

namespace retort::orchestrator {

// In the detail of a failure: here begins that the trial failed elsewhere as well.
inline constexpr const char* kFailedOnSlot = "; it failed on slot ";

// Applies the event and queues it for the journal. It must be legal.
void Record(Core& core, Event event, Now now, Outbox& outbox);
void Send(Outbox& outbox, WorldRank to, cluster::Message message, AttemptId attempt = {},
          Generation generation = {});

// Ends an active attempt without success: retried by the policy or failed for good, its slots are free. All
// members are told to stop at once. `reporter`: the rank whose worker it was, where one told.
void EndBadly(Core& core, AttemptId attempt, FailureKind failure, const std::string& detail, Now now,
              Outbox& outbox, std::optional<WorldRank> reporter = std::nullopt);
// The row of every planned trial that has ended, teachers before their students.
void WriteOwedRows(Core& core, Now now, Outbox& outbox);
// Leases of queued trials to free slots.
void LeaseQueued(Core& core, Now now, Outbox& outbox);

}  // namespace retort::orchestrator
