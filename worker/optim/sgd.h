// Stochastic gradient descent with momentum and L2 weight decay, as torch.optim.SGD without dampening.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "worker/train_state.h"

namespace retort::worker {

struct SgdSettings {
  double momentum = 0.9;
  double weight_decay = 0;   // times the parameters, added to the gradient
};

class Sgd {
 public:
  // `size`: elements of the flat buffer, which lies on `device`.
  Sgd(std::int64_t size, const SgdSettings& settings, at::Device device = at::kCPU);
  // parameters, gradient: f32 [size], on the device. v = momentum v + (g + decay p); p -= lr v.
  void Step(at::Tensor& parameters, const at::Tensor& gradient, double learning_rate);
  void Register(TrainState& state, const std::string& prefix) const;
  // Forgets the velocity.
  void Reset();

 private:
  SgdSettings settings_;
  at::Tensor velocity_;   // f32 [size]
};

}  // namespace retort::worker
