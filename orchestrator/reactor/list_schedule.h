// How long a set of trials takes on a number of slots, under the order that the scheduler follows. Pure.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace retort::orchestrator {

// What the schedule knows of a trial.
struct TimedTrial {
  static constexpr std::size_t kNoTeacher = std::numeric_limits<std::size_t>::max();
  double seconds = 0;  // >= 0, that it still takes
  int devices = 1;
  int priority = 0;
  bool running = false;              // holds its devices at time zero
  std::size_t teacher = kNoTeacher;  // index of a trial that has to end first
};

// Returns the seconds until the last trial has ended. Trials start by priority, then in their order, as soon as their
// teacher has ended and enough slots are free; the first gang that finds too few keeps later trials back. `at_once`
// caps the trials that run together; 0 = no cap. Returns nothing where a trial can never start, because it asks for
// more than `slots` or waits for itself.
[[nodiscard]] std::optional<double> ComputeMakespan(const std::vector<TimedTrial>& trials, int slots, int at_once = 0);

}  // namespace retort::orchestrator
