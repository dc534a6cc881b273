#include "orchestrator/commit.h"

#include "orchestrator/reactor.h"

namespace retort::orchestrator {
namespace {

// The journal says how much the ledger holds, before anybody draws what was reserved last.
Status NoteLedger(Recovered& recovered, Outbox& outbox) {
  const std::uint64_t reservations = recovered.ledger->entries().size();
  if (reservations <= recovered.core.ledger_noted()) return {};
  const JournalEvent noted{recovered.core.newest_event(), LedgerNoted{reservations}};
  RETORT_RETURN_IF_ERROR(recovered.core.Apply(noted));
  outbox.journal.push_back(noted);
  return {};
}

}  // namespace

Status CommitJournal(Recovered& recovered, Outbox& outbox) {
  const auto first = outbox.journal.begin() + static_cast<std::ptrdiff_t>(outbox.journaled);
  RETORT_RETURN_IF_ERROR(recovered.journal.Commit({first, outbox.journal.end()}));
  outbox.journaled = outbox.journal.size();
  return {};
}

Status CommitOutbox(Recovered& recovered, Outbox& outbox) {
  for (const auto& request : outbox.ledger) {
    if (const auto* settle = std::get_if<LedgerSettle>(&request)) {
      RETORT_RETURN_IF_ERROR(recovered.ledger->Settle(settle->entry, settle->used));
      continue;
    }
    const auto& reserve = std::get<LedgerReserve>(request);
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t entry,
                            recovered.ledger->Reserve(reserve.data_digest, reserve.attempt,
                                                      reserve.generation.value, reserve.event));
    OnLedgerReserved(recovered.core, reserve, entry, outbox);
  }
  RETORT_RETURN_IF_ERROR(NoteLedger(recovered, outbox));
  return CommitJournal(recovered, outbox);
}

}  // namespace retort::orchestrator
