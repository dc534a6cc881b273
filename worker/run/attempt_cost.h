// What an attempt took: time, and what its devices did.
#pragma once

#include <optional>
#include <string>

#include "experiments/base/status.h"
#include "worker/devices/device_meter.h"
#include "worker/gang/collective.h"
#include "worker/methods/method.h"

namespace retort::worker {

// What the devices of a gang did since each was opened, whoever asked them to, where their driver says it of all.
struct DeviceUse {
  std::optional<double> joules = {};  // in sum
  std::optional<double> busy = {};    // fraction of the time in which a kernel ran, their mean
};

// Time, and what the devices did where that is counted.
struct AttemptCost {
  double seconds = 0, training_seconds = 0, step_seconds = 0;  // wall clock: all of it, its steps, one of them
  DeviceUse devices = {};
};

[[nodiscard]] Series MakeTimings(const AttemptCost& cost);
// Fills `use`, in which a GPU that several members share counts once. Nothing on CPUs; a collective call elsewhere.
// `device`: this member's; `meter`: its, or null. Error: of the gang.
[[nodiscard]] Status MeasureDevices(const std::string& device, const DeviceMeter* meter, Collective& gang,
                                    DeviceUse& use);

}  // namespace retort::worker
