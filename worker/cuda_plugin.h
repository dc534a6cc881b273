// libretort_cuda.so as the worker sees it: looked for beside the program, loaded when devices exist.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "experiments/spec/status.h"
#include "worker/gang/collective.h"
#include "worker/gang/gloo_collective.h"
#include "worker/noise/noise_key.h"

namespace retort::worker {

// Loaded once for the process and never unloaded: CUDA state does not survive that.
class CudaPlugin {
 public:
  virtual ~CudaPlugin() = default;
  // Usable devices; at least 1.
  [[nodiscard]] virtual int device_count() const = 0;
  // NCCL between the members' current devices.
  [[nodiscard]] virtual Result<std::unique_ptr<Collective>> JoinNcclGang(const GangMembership& membership,
                                                                         int device) = 0;
  // Gives memory that no tensor uses back to the devices. Error: environment, from a context that is broken.
  [[nodiscard]] virtual Status ReleaseMemory() = 0;
  // As noise::FillNormal with first = 0, into a contiguous f32 CUDA tensor; the same bits as on the CPU.
  [[nodiscard]] virtual Status FillNormal(const noise::NoiseKey& key, noise::StreamId stream, double scale,
                                          at::Tensor& out) = 0;
  // values[i] = bound * g_i / (|g_i| + floor) + noise_std * N_i in one pass; g [rows, classes] f32 CUDA.
  [[nodiscard]] virtual Status NormaliseAndNoise(const at::Tensor& gradient, double bound, double floor,
                                                 double noise_std, const noise::NoiseKey& key,
                                                 noise::StreamId stream, at::Tensor& values) = 0;
};

// Ends the error where the loader misses a library that is part of neither torch's CPU wheel nor the driver.
inline constexpr const char* kCudaRemedy = "`bash cluster/setup.sh --cuda` and the build again bring it.";

// `path` of the library. Error: environment, with the loader's own words, when it is missing, was
// built for other headers, or finds no device: the worker then runs on the CPU.
[[nodiscard]] Result<std::unique_ptr<CudaPlugin>> LoadCudaPlugin(const std::string& path);

}  // namespace retort::worker
