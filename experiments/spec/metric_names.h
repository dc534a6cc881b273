// What finished trials are measured by: what a table or a figure may ask for. Workers give no other names.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace retort {

inline constexpr std::array<std::string_view, 9> kMetricNames = {
    "test.accuracy", "test.top5",          "test.sensitive_accuracy", "test.member_accuracy", "student.parameters",
    "data.skipped",  "stop.step",          "sleep.steps",             "sleep.seconds"};
// Of figures alone; their rows are the run's and not the trial's.
inline constexpr std::array<std::string_view, 4> kTimingNames = {"seconds", "training_seconds", "step_seconds",
                                                                 "energy_joules"};
// What an audit found, followed by its kind and a figure of it: "audit.membership.auc".
inline constexpr std::string_view kAuditPrefix = "audit.";

}  // namespace retort
