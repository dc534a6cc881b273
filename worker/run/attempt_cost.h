// The time and the energy that an attempt took.
#pragma once

#include <optional>
#include <string>

#include "experiments/base/status.h"
#include "worker/devices/energy_meter.h"
#include "worker/gang/collective.h"
#include "worker/methods/method.h"

namespace retort::worker {

// What an attempt took: time, and energy where its devices are counted.
struct AttemptCost {
  double seconds = 0, training_seconds = 0, step_seconds = 0;  // wall clock: all of it, its steps, one of them
  std::optional<double> joules;                                // of all devices of the gang
};

[[nodiscard]] Series MakeTimings(const AttemptCost& cost);
// `joules` becomes what all devices of the gang have used, by all that they did since each was opened; unset where one
// of them is not counted. A collective call, but on CPUs. `device`: this member's; `meter`: its, or null. Error: of the
// gang.
[[nodiscard]] Status SumEnergyOverGang(const std::string& device, const EnergyMeter* meter, Collective& gang,
                                       std::optional<double>& joules);

}  // namespace retort::worker
