// Composes the row of a trial that has ended for good: its immutable result.
#pragma once

#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {

// SelectCountedCharges (privacy_charges.h) for a trial of `core`, as every total and budget counts: none where the
// trial only asks a teacher whose own private training is charged by itself.
[[nodiscard]] PrivacyCharges::Events SelectCountedCharges(const Core& core, TrialId trial,
                                                          PrivacyCharges::Events events);
// The same as a rule for PrivacyCharges. Borrows `core`.
[[nodiscard]] PrivacyCharges::CountRule MakeCountRule(const Core& core);

// Claims come from what the ledger charged and from the teacher's row, which must exist. The trial's
// state must be final.
[[nodiscard]] storage::ResultRow ComposeRow(const Core& core, const Trial& trial);
// Writes the row of every planned trial that has ended and has none yet, teachers before their students.
void WriteMissingRows(Core& core, Now now, Outbox& outbox);

}  // namespace retort::orchestrator
