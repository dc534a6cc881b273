// Keyed noise on tensors, drawn where they lie: the same bits on every kind of device.
#pragma once

#include <ATen/core/Tensor.h>

#include "experiments/base/status.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::noise {

// How rows are bounded and noised on a lattice. All but `step` and `floor` are in steps.
struct LatticeRows {
  double step = 1;     // a power of two
  double target = 0;   // the length that a row is shortened to; rounding leaves it within `longest`
  double longest = 0;  // no row is longer, once rounded
  double floor = 0;    // e in g / (|g| + e), in the gradient's unit
  double scale = 1;    // the noise's standard deviation: within CheckLatticeScale
};

class NoiseKernels {
 public:
  virtual ~NoiseKernels() = default;
  // As noise::FillLatticeNormal with first = 0, into the contiguous f64 tensor `out`. Error: environment.
  [[nodiscard]] virtual Status FillLatticeNormal(const NoiseKey& key, StreamId stream, double scale,
                                                 at::Tensor& out) = 0;
  // values[i] = step (q_i + N_i) with q_i = g_i target / (|g_i| + floor) rounded to whole numbers, for every row in one
  // pass: norms in double, summed in 32 lanes. A row that is not finite, or longer than `longest` once it is rounded,
  // counts as zeros. Draw i * classes + c belongs to values[i, c].
  // gradient, values: contiguous f32 [rows, classes] on the same device. Error: environment.
  [[nodiscard]] virtual Status NormaliseAndNoise(const at::Tensor& gradient, const LatticeRows& rows,
                                                 const NoiseKey& key, StreamId stream, at::Tensor& values) = 0;
};

// On the CPU; tensors of other devices are copied there and back.
class HostNoise final : public NoiseKernels {
 public:
  [[nodiscard]] Status FillLatticeNormal(const NoiseKey& key, StreamId stream, double scale, at::Tensor& out) override;
  [[nodiscard]] Status NormaliseAndNoise(const at::Tensor& gradient, const LatticeRows& rows, const NoiseKey& key,
                                         StreamId stream, at::Tensor& values) override;
};

}  // namespace retort::worker::noise
