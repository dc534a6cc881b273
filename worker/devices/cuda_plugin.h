// libretort_cuda.so as the worker sees it: looked for beside the program, loaded when devices exist.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "experiments/base/status.h"
#include "worker/gang/collective.h"
#include "worker/gang/gloo_collective.h"
#include "worker/noise/noise_kernels.h"
#include "worker/tensors/step_graphs.h"

namespace retort::worker {

// Keyed noise (NoiseKernels) on CUDA tensors, with the bits of the CPU's. Loaded once for the process and
// never unloaded: CUDA state does not survive that.
class CudaPlugin : public noise::NoiseKernels {
 public:
  // Usable devices; at least 1.
  [[nodiscard]] virtual int device_count() const = 0;
  // NCCL between the members' current devices.
  [[nodiscard]] virtual Result<std::unique_ptr<Collective>> JoinNcclGang(const GangMembership& membership,
                                                                         int device) = 0;
  // Steps recorded as CUDA graphs. Error: environment.
  [[nodiscard]] virtual Result<std::unique_ptr<GraphDevice>> OpenGraphDevice(int device) = 0;
  // Gives memory that no tensor uses back to the devices. Error: environment, from a context that is broken.
  [[nodiscard]] virtual Status ReleaseMemory() = 0;
};

// Ends the error where the loader misses a library that is part of neither torch's CPU wheel nor the driver.
inline constexpr const char* kCudaRemedy = "`bash cluster/setup.sh --cuda` and the build again bring it.";

// `path` of the library. Error: environment, with the loader's own words, when it is missing, was
// built for other headers, or finds no device: the worker then runs on the CPU.
[[nodiscard]] Result<std::unique_ptr<CudaPlugin>> LoadCudaPlugin(const std::string& path);

}  // namespace retort::worker
