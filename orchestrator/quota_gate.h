// The quota of a sweep against what the core knows. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/core.h"

namespace retort::orchestrator {

// As RefuseByQuota (quota.h); always empty for a sweep without a quota.
[[nodiscard]] std::string QuotaRefusal(const Core& core, TrialId trial, Now now, std::int64_t starting = 0,
                                       std::int64_t starting_new = 0);
// Why the run has to end though trials are left: wall clock or device-hours are used up, or nothing runs and
// the quota lets nothing that is queued start. Empty while it may go on.
[[nodiscard]] std::string QuotaStop(const Core& core, Now now);

}  // namespace retort::orchestrator
