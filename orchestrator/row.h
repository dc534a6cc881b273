// The immutable result of a trial that has ended for good.
#pragma once

#include "orchestrator/core.h"
#include "storage/result_file.h"

namespace retort::orchestrator {

// CountedCharges (claim_context.h) of `events` of a trial of `core`, as every total and budget counts them: none where the
// trial only asks a teacher whose own private training is charged by itself.
[[nodiscard]] ChargeBook::Events ChargesOf(const Core& core, TrialId trial, ChargeBook::Events events);
// The same for a charge book. Borrows `core`.
[[nodiscard]] ChargeBook::Counts CountsOf(const Core& core);

// Claims come from what the ledger charged and from the teacher's row, which must exist. The trial's
// state must be final.
[[nodiscard]] storage::ResultRow ComposeRow(const Core& core, const Trial& trial);

}  // namespace retort::orchestrator
