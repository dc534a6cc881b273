// This host's clocks, and the end of the allocation that it is in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/doctor/finding.h"

namespace retort::orchestrator::doctor {

struct ClockFacts {
  double unix_seconds = 0;
  double monotonic_step = 0;         // seconds between two looks at the monotonic clock, one after the other
  std::optional<bool> synchronised;  // by NTP, as the kernel knows it; nothing where it does not say
  double estimated_error = 0;        // seconds, where synchronised
  std::optional<double> seconds_left;  // of the allocation
  std::string named_by;                // the variable that says so
  std::string end_trouble;             // why it cannot be read
};

[[nodiscard]] ClockFacts LookAtClock(const std::vector<std::string>& environment);

[[nodiscard]] Finding JudgeClock(const ClockFacts& facts);
// Nothing outside an allocation and in one without a limit.
[[nodiscard]] std::optional<Finding> JudgeAllocation(const ClockFacts& facts);

}  // namespace retort::orchestrator::doctor
