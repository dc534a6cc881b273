#include "orchestrator/commit.h"

#include "orchestrator/reactor.h"

namespace retort::orchestrator {

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
  return recovered.journal.Commit(outbox.journal);
}

}  // namespace retort::orchestrator
