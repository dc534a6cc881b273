// Sentences about what the journal records of slots and devices, for people.
#pragma once

#include <string>

#include "orchestrator/core/core.h"
#include "orchestrator/core/events.h"

namespace retort::orchestrator {

// A slot that gets no more work, and the trials that failed on it.
[[nodiscard]] std::string FormatSlotDrained(const Core& core, const SlotDrained& drained);
// A drained slot that gets work again, and why.
[[nodiscard]] std::string FormatSlotRestored(const Core& core, const SlotRestored& restored);
// Trials that shared a device: the step rates that were measured, and whether so many go on sharing it.
[[nodiscard]] std::string FormatPackingMeasured(const PackingMeasured& measured);

}  // namespace retort::orchestrator
