// Formats findings of audits as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/privacy/audit_report.h"

namespace retort::orchestrator::cli {

// A few lines for each finding, each line indented by two, none longer than `width`.
[[nodiscard]] std::string FindingsText(const privacy::AuditReport& report, std::size_t width);

// "findings" as they are stored, each with its "verdict", and "contradictions".
[[nodiscard]] nlohmann::ordered_json FindingsJson(const privacy::AuditReport& report);

}  // namespace retort::orchestrator::cli
