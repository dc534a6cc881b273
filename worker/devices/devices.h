// The devices that this process can train on.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "worker/devices/cuda_plugin.h"
#include "worker/devices/device_meter.h"
#include "worker/gang/collective.h"
#include "worker/gang/gloo_collective.h"
#include "worker/noise/noise_kernels.h"
#include "worker/tensors/step_graphs.h"

namespace retort::worker {

// Ready for tensors. `noise`: its kernels for keyed noise, which outlive every trial; null: those of the CPU.
struct OpenDevice {
  at::Device device = at::kCPU;
  noise::NoiseKernels* noise = nullptr;
  std::shared_ptr<const DeviceMeter> meter;  // since it was opened; null where the driver does not count
  GraphDevice* graphs = nullptr;             // records steps, and outlives every trial; null: nothing does
};

// The device that a Start names ("cpu", "cuda:1"), ready for tensors. Error: usage for a name that is none;
// environment, saying what is missing, for one that this process cannot use.
using DeviceOpener = std::function<Result<OpenDevice>(const std::string& name)>;
// How the members of a gang, each with its device, come together.
using DeviceMeeting =
    std::function<Result<std::unique_ptr<Collective>>(const GangMembership& membership, const std::string& device)>;

// "cpu" alone.
[[nodiscard]] Result<OpenDevice> OpenHost(const std::string& name);
// By Gloo.
[[nodiscard]] Result<std::unique_ptr<Collective>> MeetOnHost(const GangMembership& membership,
                                                             const std::string& device);

// CPUs, and CUDA devices by way of libretort_cuda.so. One for the process; not thread-safe.
class Devices {
 public:
  // `library`: path of libretort_cuda.so, loaded when the first CUDA device is asked for. `gpu_uuids`: by CUDA ordinal
  // (cluster/host.h), as far as they are known.
  explicit Devices(std::string library, std::vector<std::string> gpu_uuids = {})
      : library_(std::move(library)), gpu_uuids_(std::move(gpu_uuids)) {}

  // As DeviceOpener. A CUDA device becomes the current one.
  [[nodiscard]] Result<OpenDevice> Open(const std::string& name);
  // As DeviceMeeting: CUDA devices by NCCL, where tensors of the CPU may take part too; CPUs by Gloo.
  [[nodiscard]] Result<std::unique_ptr<Collective>> Meet(const GangMembership& membership, const std::string& device);
  // Between trials: memory that no tensor uses goes back, for the other workers of the device.
  void Rest();
  // How many CUDA devices can be used. Error: environment, saying why there are none.
  [[nodiscard]] Result<int> CountCuda();

 private:
  [[nodiscard]] Status Load();
  std::string library_;
  std::vector<std::string> gpu_uuids_;
  std::unique_ptr<CudaPlugin> plugin_;
  std::map<int, std::unique_ptr<GraphDevice>> graphs_;  // by ordinal
};

}  // namespace retort::worker
