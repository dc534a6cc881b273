// Estimates what the rest of a sweep takes: time, device-hours, disk. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "orchestrator/core/cost_model.h"
#include "orchestrator/core/trial.h"

namespace retort::orchestrator {

struct PendingTrial {
  const TrialSpec* spec = nullptr;
  const TrialSpec* teacher = nullptr;  // its spec, finished or not; null without one
  double done = 0;                     // fraction of its steps, in [0, 1]
  bool running = false;                // has its devices
  // Of one that runs and whose pace is known; 0 = it is not.
  double step_seconds = 0;
  double steps_left_seconds = 0;  // at that pace, from now on
  std::int64_t total_steps = 0;
};
// Of a running trial that is at `step` of `total_steps`, at unix time `now`.
void SetPace(PendingTrial& trial, const Pace& pace, std::int64_t step, std::int64_t total_steps, double now);

// What a trial still takes: at its own pace where that is known, else as the model says; nothing when neither is.
[[nodiscard]] std::optional<double> EstimateSecondsLeft(const CostModel& costs, const PendingTrial& trial);

struct Interval {
  double mean = 0;
  double low = 0, high = 0;  // nine times out of ten between them
};

struct SweepEstimate {
  Interval seconds;  // until the last trial has ended, on `slots` slots
  Interval device_hours;
  std::optional<std::uint64_t> disk_bytes;  // attempt files that will stay, and checkpoints while trials run
  int slots = 1;
  int measured = 0;           // fewest samples behind any trial's estimate; 0 = all follow from their specs
  bool from_running = false;  // some costs are known from trials alone that have not ended yet
  bool as_if_alone = false;   // some trials may share a device, and were only measured without
};

inline constexpr std::size_t kTrialsDrawn = 200'000;  // in all simulated sweeps together, about

// `trials` in plan order, teachers before their students. `at_once`: as in Makespan. Nothing when a trial's
// cost is unknown or a trial needs more than `slots`; a cost of which the model knows nothing is taken from the
// pace of a running trial that is like it. Intervals come from simulated sweeps with the spreads that the model
// states; equal arguments give equal answers. `drawn`: more takes longer and makes them smoother.
[[nodiscard]] std::optional<SweepEstimate> EstimateSweep(const CostModel& costs,
                                                         const std::vector<PendingTrial>& trials, int slots,
                                                         int at_once = 0, std::size_t drawn = kTrialsDrawn);
// Trials whose cost is unknown.
[[nodiscard]] std::size_t CountUnknown(const CostModel& costs, const std::vector<PendingTrial>& trials);

}  // namespace retort::orchestrator
