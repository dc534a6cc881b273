// Sentences that people read while a sweep runs and when it has ended. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/core/core.h"
#include "orchestrator/core/events.h"
#include "orchestrator/core/inventory.h"
#include "orchestrator/results/sweep_estimate.h"

namespace retort::orchestrator {

// "3 of 8 trials done, 2 running, 3 queued, about 4 min left (3 min to 6 min): dpdfd-working-digits-s0 train 40/160
// …". Without an estimate
// the time is left out.
[[nodiscard]] std::string FormatProgressLine(const Core& core, const std::optional<SweepEstimate>& left = std::nullopt);
// Counts the planned trials that have ended for good, in whatever state.
[[nodiscard]] std::size_t CountEnded(const Core& core);
// Returns a sentence for an event that a person should see when it happens, such as a trial that ended or an attempt
// that is retried; empty for other events.
[[nodiscard]] std::string FormatEventLine(const Core& core, const Event& event);
// Returns a failure's detail without what its worker wrote.
[[nodiscard]] std::string RemoveWorkerOutput(const std::string& detail);
// Summary of a sweep that is over: counts, failures with their causes (the first few), where the results are.
[[nodiscard]] std::vector<std::string> FormatSweepSummary(const Core& core, double seconds);
// Summary of a sweep that a second signal ended.
[[nodiscard]] std::string FormatEndedAtOnce(const Core& core);

}  // namespace retort::orchestrator
