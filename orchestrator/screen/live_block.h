// The block of lines that a terminal shows while a sweep runs. Pure.
#pragma once

#include <vector>

#include "orchestrator/core/core.h"
#include "orchestrator/screen/live_facts.h"
#include "orchestrator/screen/live_layout.h"

namespace retort::orchestrator {

// Returns the content of the block: failures with their causes, retries, drained slots, lost agents, budgets and disk
// that run short; what runs, by rank and slot; what ends next. Its cost does not grow with the number of trials.
[[nodiscard]] BlockContent MakeBlockContent(const Core& core, const LiveFacts& facts, Now now);
// Lays the content out as lines (live_layout.h).
[[nodiscard]] std::vector<BlockLine> RenderLiveBlock(const Core& core, const LiveFacts& facts, Now now,
                                                     const Screen& screen);

}  // namespace retort::orchestrator
