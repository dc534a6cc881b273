// What an attempt took: time, and energy where its devices are counted.
#pragma once

#include <optional>
#include <string>

#include "experiments/spec/status.h"
#include "worker/energy_meter.h"
#include "worker/gang/collective.h"
#include "worker/methods/method.h"

namespace retort::worker {

struct AttemptCost {
  double seconds = 0, training_seconds = 0, step_seconds = 0;  // wall clock: all of it, its steps, one of them
  std::optional<double> joules;                                // of all devices of the gang
};

[[nodiscard]] Series AttemptTimings(const AttemptCost& cost);
// `joules` becomes what all devices of the gang have used, by all that they did since each was opened; unset where one of
// them is not counted. A collective call, but on CPUs. `device`: this member's; `meter`: its, or null. Error: of the gang.
[[nodiscard]] Status CountEnergy(const std::string& device, const EnergyMeter* meter, Collective& gang,
                                 std::optional<double>& joules);

}  // namespace retort::worker
