// What the rest of a sweep will take: time, device-hours, disk. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/spec/trial_spec.h"
#include "orchestrator/cost_model.h"

namespace retort::orchestrator {

struct PendingTrial {
  const TrialSpec* spec = nullptr;
  const TrialSpec* teacher = nullptr;  // its spec, finished or not; null without one
  double done = 0;                     // fraction of its steps, in [0, 1]
  bool running = false;                // has its devices
};

struct Interval {
  double mean = 0;
  double low = 0, high = 0;  // nine times out of ten between them
};

struct SweepEstimate {
  Interval seconds;  // until the last trial has ended, on `slots` slots
  Interval device_hours;
  std::optional<std::uint64_t> disk_bytes;  // attempt files that will stay, and checkpoints while trials run
  int slots = 1;
  int measured = 0;  // fewest samples behind any trial's estimate; 0 = all follow from their specs
};

// `trials` in plan order, teachers before their students. `at_once`: as in Makespan. Nothing when a trial's
// cost is unknown or a trial needs more than `slots`. Intervals come from simulated sweeps with the spreads
// that the model states; equal arguments give equal answers.
[[nodiscard]] std::optional<SweepEstimate> EstimateSweep(const CostModel& costs,
                                                         const std::vector<PendingTrial>& trials, int slots,
                                                         int at_once = 0);
// Trials whose cost is unknown.
[[nodiscard]] std::size_t CountUnknown(const CostModel& costs, const std::vector<PendingTrial>& trials);

}  // namespace retort::orchestrator
