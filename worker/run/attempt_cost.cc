#include "worker/run/attempt_cost.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace retort::worker {

Series MakeTimings(const AttemptCost& cost) {
  Series timings = {
      {"seconds", cost.seconds}, {"training_seconds", cost.training_seconds}, {"step_seconds", cost.step_seconds}};
  if (cost.devices.joules) timings.emplace_back("energy_joules", *cost.devices.joules);
  if (cost.devices.busy) timings.emplace_back("device_busy", *cost.devices.busy);
  return timings;
}

Status MeasureDevices(const std::string& device, const DeviceMeter* meter, Collective& gang, DeviceUse& use) {
  use = {};
  if (device == "cpu") return {};
  constexpr double kUnknown = -1;
  const DeviceUse own = meter != nullptr ? DeviceUse{meter->Joules(), meter->BusyFraction()} : DeviceUse();
  RETORT_ASSIGN_OR_RETURN(
      const std::vector<at::Tensor> said,
      gang.AllGather(at::tensor({own.joules.value_or(kUnknown), own.busy.value_or(kUnknown)}, at::kDouble)));
  const std::int64_t gpu = meter != nullptr ? meter->gpu() : 0;
  RETORT_ASSIGN_OR_RETURN(const std::vector<at::Tensor> gpus, gang.AllGather(at::tensor({gpu}, at::kLong)));
  std::map<std::int64_t, std::pair<double, double>> by_gpu;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    by_gpu.try_emplace(gpus[rank].item<std::int64_t>(), said[rank][0].item<double>(), said[rank][1].item<double>());
  double joules = 0, busy = 0;
  bool counted = true, watched = true;
  for (const auto& [known, measured] : by_gpu) {
    joules += measured.first;
    busy += measured.second / static_cast<double>(by_gpu.size());
    counted = counted && measured.first >= 0;
    watched = watched && measured.second >= 0;
  }
  if (counted) use.joules = joules;
  if (watched) use.busy = busy;
  return {};
}

}  // namespace retort::worker
