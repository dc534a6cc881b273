// Formats the status of a sweep as text, as JSON, and as the block of lines that is redrawn on a terminal.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "orchestrator/results/sweep_estimate.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/screen/live_layout.h"

namespace retort::orchestrator::cli {

// "about 3 min on 2 slots (2 min to 4 min nine times out of ten), 0.1 device-hours (0.08 to 0.13), disk about
// 12.4 MiB".
[[nodiscard]] std::string FormatSweepEstimate(const SweepEstimate& estimate);

// Of a sweep that is over: how it ended, and where the results are, in a sentence.
[[nodiscard]] std::string FormatEnding(const SweepStatus& status);
// What is spent of one private data set, in a line without its end.
[[nodiscard]] std::string FormatSpendingLine(const DataSpending& spent);
[[nodiscard]] nlohmann::ordered_json MakeSpendingJson(const DataSpending& spent);

[[nodiscard]] std::string FormatStatusText(const SweepStatus& status, double now_unix_seconds, std::size_t width);
// The same for who watched it to its end.
[[nodiscard]] std::string FormatFinalStatusText(const SweepStatus& status, double now_unix_seconds, std::size_t width);
[[nodiscard]] std::string FormatStatusJson(const SweepStatus& status);

// As the block of lines that a run shows of itself (live_layout.h). `clock`: unix seconds of this machine.
[[nodiscard]] BlockContent MakeBlock(const SweepStatus& status, double clock);

}  // namespace retort::orchestrator::cli
