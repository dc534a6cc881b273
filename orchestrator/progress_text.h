// What people read while a sweep runs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/core.h"
#include "orchestrator/events.h"
#include "orchestrator/sweep_estimate.h"

namespace retort::orchestrator {

// "3 of 8 trials done, 2 running, 3 queued, about 4 min left (3 min to 6 min): dpdfd-working-digits-s0 train 40/160
// …". Without an estimate nothing is said of the time.
[[nodiscard]] std::string ProgressLine(const Core& core, const std::optional<SweepEstimate>& left = std::nullopt);
// Planned trials that have ended for good, however.
[[nodiscard]] std::size_t CountDone(const Core& core);
// A sentence about a slot that was left out.
[[nodiscard]] std::string DrainedText(const Core& core, const SlotDrained& drained);
// A sentence about trials that shared a device: what was measured, and whether it goes on.
[[nodiscard]] std::string RestoredText(const Core& core, const SlotRestored& restored);
[[nodiscard]] std::string PackedText(const PackingMeasured& measured);
// A sentence for events that a person should see when they happen, empty for the others: a trial that
// ended, an attempt that is retried.
[[nodiscard]] std::string EventLine(const Core& core, const Event& event);
// A failure's detail without what its worker wrote, for those who have seen the log.
[[nodiscard]] std::string WithoutLastWords(const std::string& detail);
// Of a sweep that is over: counts, failures with their causes (the first few), where the results are.
[[nodiscard]] std::vector<std::string> Summary(const Core& core, double seconds);
// The same of one that a second signal ended.
[[nodiscard]] std::string EndedAtOnce(const Core& core);
// "1 h 03 min", "4 min 10 s", "12 s".
[[nodiscard]] std::string DurationText(double seconds);

}  // namespace retort::orchestrator
