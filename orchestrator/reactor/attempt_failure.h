// How an attempt ends without success, and what follows for its trial and for the slots that it had.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"

namespace retort::orchestrator {

// Stands in the detail of a failure before the slot on which the trial failed as well.
inline constexpr const char* kFailedOnSlot = "; it failed on slot ";

// Ends an active attempt without success: its trial is queued again as the retry policy says, or fails for good, and
// its slots are free. All members are told to stop at once. A slot where enough different trials failed gets no more
// work. `reporter`: the rank whose worker failed; nothing where no rank reported it.
void FailAttempt(Core& core, AttemptId attempt, FailureKind failure, const std::string& detail, Now now, Outbox& outbox,
                 std::optional<WorldRank> reporter = std::nullopt);

}  // namespace retort::orchestrator
