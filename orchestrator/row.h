// The immutable result of a trial that has ended for good.
#pragma once

#include "orchestrator/core.h"
#include "storage/result_file.h"

namespace retort::orchestrator {

// Folder of the trial below the results folder: "trials/<name>-<id>".
[[nodiscard]] std::string TrialDirectory(const TrialSpec& spec);
[[nodiscard]] std::string AttemptDirectory(const TrialSpec& spec, std::uint32_t attempt);

// Claims come from what the ledger charged and from the teacher's row, which must exist. The trial's
// state must be final.
[[nodiscard]] storage::ResultRow ComposeRow(const Core& core, const Trial& trial);

}  // namespace retort::orchestrator
