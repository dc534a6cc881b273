// Findings as people read them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "orchestrator/doctor/finding.h"

namespace retort::orchestrator::doctor {

// "ok", "note", "warning", "problem".
[[nodiscard]] std::string_view LevelName(Level level);
[[nodiscard]] int CountOf(const Findings& findings, Level level);
// Problems, warnings, notes, then what is well; findings of one level keep their order.
[[nodiscard]] Findings WorstFirst(Findings findings);

// A line a finding, its remedy indented below it, and a last line that counts. `paint` colours the level's
// name; of control characters in a finding only the spaces are left.
[[nodiscard]] std::string ReportText(const Findings& findings,
                                     const std::function<std::string(Level, std::string_view)>& paint);

}  // namespace retort::orchestrator::doctor
