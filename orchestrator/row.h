// The immutable result of a trial that has ended for good.
#pragma once

#include "orchestrator/core.h"
#include "storage/result_file.h"

namespace retort::orchestrator {

// False for a trial that only asks a teacher whose own private training is charged by itself: what it makes
// of the answers is post-processing and costs the data set nothing. True where in doubt. `event`, when not
// null, counts among the trial's releases.
[[nodiscard]] bool CostsItsData(const Core& core, TrialId trial,
                                const privacy::PrivacyEvent* event = nullptr);

// Claims come from what the ledger charged and from the teacher's row, which must exist. The trial's
// state must be final.
[[nodiscard]] storage::ResultRow ComposeRow(const Core& core, const Trial& trial);

}  // namespace retort::orchestrator
