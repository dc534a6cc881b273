// Draws what attacks by score found: true positive against false positive rate, both on logarithmic axes, where small
// false positive rates are seen.
#pragma once

#include <optional>
#include <string>

#include "experiments/privacy/audit_report.h"
#include "orchestrator/plot/chart.h"

namespace retort::orchestrator::cli {

// A line a finding that has a curve, with the Clopper-Pearson limits of its true positive rate, and what guessing
// gives. `trial`: the shown name. Nothing where no finding has a curve.
[[nodiscard]] std::optional<plot::Chart> MakeAuditChart(const std::string& trial, const privacy::AuditReport& report);

}  // namespace retort::orchestrator::cli
