// Keyed noise on tensors, drawn where they lie: the same bits on every kind of device.
#pragma once

#include <ATen/core/Tensor.h>

#include "experiments/spec/status.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::noise {

class NoiseKernels {
 public:
  virtual ~NoiseKernels() = default;
  // As noise::FillNormal with first = 0, into the contiguous f32 tensor `out`. Error: environment.
  [[nodiscard]] virtual Status FillNormal(const NoiseKey& key, StreamId stream, double scale,
                                          at::Tensor& out) = 0;
  // values[i] = g_i * (bound / (|g_i| + floor)) + noise_std * N_i for every row in one pass: norms in double,
  // summed in 32 lanes, the factor and the rest in float; draw i * classes + c belongs to values[i, c].
  // gradient, values: contiguous f32 [rows, classes] on the same device. Error: environment.
  [[nodiscard]] virtual Status NormaliseAndNoise(const at::Tensor& gradient, double bound, double floor,
                                                 double noise_std, const NoiseKey& key, StreamId stream,
                                                 at::Tensor& values) = 0;
};

// On the CPU; tensors of other devices are copied there and back.
class HostNoise final : public NoiseKernels {
 public:
  [[nodiscard]] Status FillNormal(const NoiseKey& key, StreamId stream, double scale,
                                  at::Tensor& out) override;
  [[nodiscard]] Status NormaliseAndNoise(const at::Tensor& gradient, double bound, double floor,
                                         double noise_std, const NoiseKey& key, StreamId stream,
                                         at::Tensor& values) override;
};

}  // namespace retort::worker::noise
