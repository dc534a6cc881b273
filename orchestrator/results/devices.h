// Lists the devices of a run that goes on, and what each is doing, as the journal tells.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/core/cost_model.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/sweep_estimate.h"

namespace retort::orchestrator {

enum class DeviceState { free, held, drained, lost };
[[nodiscard]] std::string_view GetDeviceStateName(DeviceState state);

struct DeviceView {
  std::string host, device;  // "cuda:0"; "cpu" is one slot of the host's
  int rank = 0, slot = 0;
  DeviceState state = DeviceState::free;
  std::vector<const TrialView*> trials;  // that have it; borrowed from the view
  double since = 0;                      // of a lost one: unix seconds
};

// By host, then rank and slot. Empty when nobody runs the sweep: what an earlier run had says nothing.
[[nodiscard]] std::vector<DeviceView> ListDevices(const ResultsView& view);
[[nodiscard]] int CountIn(const std::vector<DeviceView>& devices, DeviceState state);
// "cuda:0 of gpu01 (rank 0 slot 0)".
[[nodiscard]] std::string FormatDevicePlace(const DeviceView& device);
// "4 devices on 2 hosts: 3 busy, 1 free".
[[nodiscard]] std::string DescribeDevices(const std::vector<DeviceView>& devices);

// A trial that has a device or waits, as EstimateSweep and EstimateSecondsLeft take it.
[[nodiscard]] PendingTrial MakePendingTrial(const TrialView& trial, const TrialSpec* teacher, double now_unix_seconds);
// "step 3 of 9 (12 s ago), about 4 min left"; empty when nothing is known. `teacher` may be null.
[[nodiscard]] std::string FormatProgress(const TrialView& trial, const TrialSpec* teacher, double now_unix_seconds,
                                         const CostModel& costs);
// Seconds since the run last wrote anything, when that is long enough to be said; nothing otherwise.
[[nodiscard]] std::optional<double> ComputeStaleness(const ResultsView& view, double now_unix_seconds);

}  // namespace retort::orchestrator
