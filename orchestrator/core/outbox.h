// What the reactor wants done. The service does it in this order: ledger, journal (appended and synced), messages,
// answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/messages.h"
#include "experiments/base/ids.h"
#include "experiments/privacy/privacy_event.h"
#include "orchestrator/core/amend_request.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/events.h"
#include "orchestrator/process/now.h"

namespace retort::orchestrator {

// Make the reservation durable, then call OnLedgerReserved, whose messages go last.
struct LedgerReserve {
  std::string data_digest;
  AttemptId attempt;
  Generation generation;
  WorldRank rank;             // of the worker that asked
  std::uint64_t request = 0;  // the worker's own id
  privacy::PrivacyEvent event;
};
struct LedgerSettle {
  std::uint64_t entry = 0;
  std::int64_t used = 0;
};

struct Outgoing {
  WorldRank to;
  cluster::Envelope envelope;
};

// The answer to a request of a user, by the name of the request.
struct AddressedAnswer {
  std::string request;
  AmendAnswer answer;
};

struct Outbox {
  std::vector<std::variant<LedgerReserve, LedgerSettle>> ledger;
  std::vector<JournalEvent> journal;  // already applied to the core
  std::size_t journaled = 0;          // how many of them are durable already
  std::vector<Outgoing> messages;
  std::vector<AddressedAnswer> answers;
  [[nodiscard]] bool empty() const { return ledger.empty() && journal.empty() && messages.empty() && answers.empty(); }
};

// Applies the event to the core and appends it to the journal of the outbox. REQUIRES: the event is legal.
void Record(Core& core, Event event, Now now, Outbox& outbox);
// Appends a message to the agent of world rank `to`.
void Send(Outbox& outbox, WorldRank to, cluster::Message message, AttemptId attempt = {}, Generation generation = {});

}  // namespace retort::orchestrator
