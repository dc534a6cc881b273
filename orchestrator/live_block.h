// The block of lines that a terminal shows while a sweep runs. Pure.
#pragma once

#include <vector>

#include "orchestrator/core.h"
#include "orchestrator/live_facts.h"
#include "orchestrator/live_layout.h"

namespace retort::orchestrator {

// What the block says: failures with their causes, retries, drained slots, lost agents, budgets and disk that run
// short; what runs, in the order of its places; what ends next. Looks at what runs and at counts, never at all
// trials.
[[nodiscard]] BlockContent ContentOf(const Core& core, const LiveFacts& facts, Now now);
// The same as lines (live_layout.h).
[[nodiscard]] std::vector<BlockLine> LiveBlock(const Core& core, const LiveFacts& facts, Now now,
                                               const Screen& screen);

}  // namespace retort::orchestrator
