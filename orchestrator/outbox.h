// What the reactor wants done. The service does it in this order: ledger, journal (appended and
// synced), messages, answers.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cluster/envelope.h"
#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/ids.h"
#include "orchestrator/amend_request.h"
#include "orchestrator/events.h"

namespace retort::orchestrator {

// Make the reservation durable, then call OnLedgerReserved, whose messages go last.
struct LedgerReserve {
  std::string data_digest;
  AttemptId attempt;
  Generation generation;
  WorldRank rank;             // whom to tell
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

// To a request of the user, by the name under which it was put to the reactor.
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
  [[nodiscard]] bool empty() const {
    return ledger.empty() && journal.empty() && messages.empty() && answers.empty();
  }
};

}  // namespace retort::orchestrator
