// What a student and its teacher were given beside the private examples: rows that had different things are not alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/sweep.h"
#include "experiments/spec/trial_spec.h"

namespace retort {

// A key of tables, as "method" is; it is derived, and cannot be set.
inline constexpr std::string_view kSideInformationKey = "side_information";

// "none", or what it was of, in this order: public examples (with labels), public pictures (their labels unread), class
// shares (that every class has as many of them), domain knowledge (of what such pictures look like: fixed features or a
// procedure that draws). `teacher`: null where there is none.
[[nodiscard]] std::string SideInformation(const TrialSpec& student, const TrialSpec* teacher);

// Whether one of the tables has it for a row or a column.
[[nodiscard]] bool TellsSideInformation(const std::vector<TableSpec>& tables);

}  // namespace retort
