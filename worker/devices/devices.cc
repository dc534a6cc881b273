#include "worker/devices/devices.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "worker/gang/collective_decorators.h"

namespace retort::worker {
namespace {

constexpr std::string_view kCuda = "cuda:";

// The ordinal in "cuda:<ordinal>"; -1 for any other name.
int CudaOrdinal(std::string_view name) {
  if (!name.starts_with(kCuda)) return -1;
  name.remove_prefix(kCuda.size());
  int ordinal = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && ordinal >= 0 && ordinal < 128 ? ordinal : -1;
}

}  // namespace

Result<OpenDevice> OpenHost(const std::string& name) {
  if (name == "cpu") return OpenDevice{};
  return UsageError("There is no device '" + name + "' here. Known: cpu.");
}

Result<std::unique_ptr<Collective>> MeetOnHost(const GangMembership& membership, const std::string&) {
  return JoinGlooGang(membership);
}

Status Devices::Load() {
  if (plugin_ != nullptr) return {};
  RETORT_ASSIGN_OR_RETURN(plugin_, LoadCudaPlugin(library_));
  return {};
}

Result<int> Devices::CountCuda() {
  RETORT_RETURN_IF_ERROR(Load());
  return plugin_->device_count();
}

Result<OpenDevice> Devices::Open(const std::string& name) {
  if (name == "cpu") return OpenDevice{};
  const int ordinal = CudaOrdinal(name);
  if (ordinal < 0) return UsageError("There is no device '" + name + "'. Known: cpu, cuda:0, cuda:1, ...");
  RETORT_ASSIGN_OR_RETURN(const int usable, CountCuda());
  if (ordinal >= usable) {
    return EnvironmentError("This worker was given '" + name + "', but the driver shows " + std::to_string(usable) +
                            (usable == 1 ? " device" : " devices") + ": see `nvidia-smi` and CUDA_VISIBLE_DEVICES.");
  }
  const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(ordinal));
  c10::impl::getDeviceGuardImpl(at::kCUDA)->setDevice(device);
  const auto at = static_cast<std::size_t>(ordinal);
  std::unique_ptr<GraphDevice>& graphs = graphs_[ordinal];
  if (graphs == nullptr) {
    RETORT_ASSIGN_OR_RETURN(graphs, plugin_->OpenGraphDevice(ordinal));
  }
  return OpenDevice{device, plugin_.get(), DeviceMeter::Open(at < gpu_uuids_.size() ? gpu_uuids_[at] : ""),
                    graphs.get()};
}

void Devices::Rest() {
  // What a broken context says here, it has said before.
  if (plugin_ != nullptr) static_cast<void>(plugin_->ReleaseMemory());
}

Result<std::unique_ptr<Collective>> Devices::Meet(const GangMembership& membership, const std::string& device) {
  if (device == "cpu") return JoinGlooGang(membership);
  RETORT_ASSIGN_OR_RETURN(const OpenDevice opened, Open(device));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Collective> gang, plugin_->JoinNcclGang(membership, opened.device.index()));
  return StageOn(opened.device, std::move(gang));
}

}  // namespace retort::worker
