// Adam (Kingma and Ba 2015, algorithm 1) over one flat buffer, in one pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "worker/train_state.h"

namespace retort::worker {

struct AdamSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;   // decoupled: parameters shrink by lr * weight_decay first
};

class Adam {
 public:
  // `size`: elements of the flat buffer, which lies on `device`.
  explicit Adam(std::int64_t size, const AdamSettings& settings = {}, at::Device device = at::kCPU);
  // parameters, gradient: f32 [size], contiguous, on the device. Bits do not depend on the thread count.
  void Step(at::Tensor& parameters, const at::Tensor& gradient, double learning_rate);
  void Register(TrainState& state, const std::string& prefix) const;
  // Forgets the moments and the step count.
  void Reset();

 private:
  AdamSettings settings_;
  at::Tensor moments_;   // f32 [2, size]: mean, uncentred variance
  at::Tensor count_;     // i64 [1], on the CPU: steps taken
};

}  // namespace retort::worker
