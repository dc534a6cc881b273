#include "worker/run/attempt_cost.h"

#include "worker/gang/row_share.h"

namespace retort::worker {

Series MakeTimings(const AttemptCost& cost) {
  Series timings = {
      {"seconds", cost.seconds}, {"training_seconds", cost.training_seconds}, {"step_seconds", cost.step_seconds}};
  if (cost.joules) timings.emplace_back("energy_joules", *cost.joules);
  return timings;
}

Status SumEnergyOverGang(const std::string& device, const EnergyMeter* meter, Collective& gang,
                         std::optional<double>& joules) {
  joules.reset();
  if (device == "cpu") return {};
  const std::optional<double> own = meter != nullptr ? meter->Joules() : std::nullopt;
  std::vector<double> sums = {own.value_or(0), own ? 1.0 : 0.0};
  RETORT_RETURN_IF_ERROR(SumOverGang(sums, gang));
  if (sums[1] == static_cast<double>(gang.size())) joules = sums[0];
  return {};
}

}  // namespace retort::worker
