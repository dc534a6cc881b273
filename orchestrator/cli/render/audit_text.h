// Formats findings of audits as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/privacy/audit_report.h"
#include "orchestrator/results/audit_cost.h"

namespace retort::orchestrator::cli {

// A few lines for each finding, each line indented by two, none longer than `width`.
[[nodiscard]] std::string FormatFindings(const privacy::AuditReport& report, std::size_t width);

// "8 shadows of each of 3 trials, about 2 h one after the other", and what is not known of that.
[[nodiscard]] std::string AuditCostText(const AuditCost& cost);
// "shadows", "trials", "seconds" (null where none is known) and "unknown".
[[nodiscard]] nlohmann::ordered_json AuditCostJson(const AuditCost& cost);

// "findings" as they are stored, each with its "verdict", and "contradictions".
[[nodiscard]] nlohmann::ordered_json MakeFindingsJson(const privacy::AuditReport& report);

}  // namespace retort::orchestrator::cli
