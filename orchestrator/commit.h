// Makes durable what the reactor decided, in the order that everything rests on.
#pragma once

#include "experiments/spec/status.h"
#include "orchestrator/outbox.h"
#include "orchestrator/recovery.h"

namespace retort::orchestrator {

// Ledger requests, then journal events (and how much the ledger holds now), each synced. Afterwards
// `outbox.messages` may be sent, and not before; reservations have added theirs. Error: nothing of the outbox
// may be sent, and neither log can be written any more.
[[nodiscard]] Status CommitOutbox(Recovered& recovered, Outbox& outbox);
// Its journal events alone; a CommitOutbox of the same outbox leaves them out.
[[nodiscard]] Status CommitJournal(Recovered& recovered, Outbox& outbox);

}  // namespace retort::orchestrator
