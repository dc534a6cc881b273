// How a sweep stands, as the block of lines that a run shows of itself (live_layout.h). Pure.
#pragma once

#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/live_layout.h"

namespace retort::orchestrator::cli {

// `clock`: unix seconds of this machine.
[[nodiscard]] BlockContent BlockOf(const SweepStatus& status, double clock);

}  // namespace retort::orchestrator::cli
