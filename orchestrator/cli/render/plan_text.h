// Formats a plan as text and as JSON.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "orchestrator/results/plan_report.h"

namespace retort::orchestrator::cli {

// Terminals list this many trials; JSON lists all.
inline constexpr std::size_t kListedTrials = 60;

[[nodiscard]] std::string PlanAsText(const PlanReport& report, std::size_t width);
// Trials that are new, done and dropped, without what is the same in both.
[[nodiscard]] std::string PlanDiffAsText(const PlanReport& report);
// One document, handed over in pieces.
void WritePlanAsJson(const PlanReport& report, const std::function<void(std::string_view)>& out);

}  // namespace retort::orchestrator::cli
