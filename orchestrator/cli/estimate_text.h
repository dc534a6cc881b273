// What the rest of a sweep takes, in words.
#pragma once

#include <string>

#include "orchestrator/sweep_estimate.h"

namespace retort::orchestrator::cli {

// "about 3 min on 2 slots (2 min to 4 min nine times out of ten), 0.1 device-hours (0.08 to 0.13), disk about
// 12.4 MiB".
[[nodiscard]] std::string SweepEstimateText(const SweepEstimate& estimate);

}  // namespace retort::orchestrator::cli
