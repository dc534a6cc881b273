// Optimisers over one flat buffer of parameters, and the running mean of what they led to.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "worker/tensors/train_state.h"

namespace retort::worker {

// A learning rate as the optimisers take it: f64 [], on the CPU.
[[nodiscard]] at::Tensor MakeRate(double rate);

struct AdamSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;  // decoupled: parameters shrink by lr * weight_decay first
};

// AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019) by LibTorch's fused kernel, on the CPU and on CUDA devices.
class Adam {
 public:
  // `size`: elements of the flat buffer, which lies on `device`.
  explicit Adam(std::int64_t size, const AdamSettings& settings = {}, at::Device device = at::kCPU);
  // Makes one step. parameters, gradient: f32 of `size` elements, contiguous, on the device. Bits do not depend on the
  // thread count. Autograd does not see the change, so no graph may be kept over a step. rate: f64 [], on the CPU, or
  // on the device, which then reads it itself.
  void Step(at::Tensor& parameters, const at::Tensor& gradient, const at::Tensor& rate);
  void Step(at::Tensor& parameters, const at::Tensor& gradient, double rate);
  void Register(TrainState& state, const std::string& prefix) const;
  // Forgets the moments and the step count.
  void Reset();

 private:
  AdamSettings settings_;
  at::Tensor moments_;  // f32 [2, size]: mean, uncentred variance
  at::Tensor count_;    // i64 [1], on the device: steps taken
};

struct SgdSettings {
  double momentum = 0.9;
  double weight_decay = 0;  // times the parameters, added to the gradient
};

// Stochastic gradient descent with momentum and L2 weight decay by LibTorch's fused kernel: torch.optim.SGD without
// dampening.
class Sgd {
 public:
  // `size`: elements of the flat buffer, which lies on `device`.
  Sgd(std::int64_t size, const SgdSettings& settings, at::Device device = at::kCPU);
  // Makes one step: v = momentum v + (g + decay p); p -= rate v. parameters, gradient: f32 [size], on the device. rate:
  // as for Adam.
  void Step(at::Tensor& parameters, const at::Tensor& gradient, const at::Tensor& rate);
  void Step(at::Tensor& parameters, const at::Tensor& gradient, double rate);
  void Register(TrainState& state, const std::string& prefix) const;
  // Forgets the velocity.
  void Reset();

 private:
  SgdSettings settings_;
  at::Tensor velocity_;  // f32 [size]
};

// A mean of parameters over the steps, in which later steps weigh more.
class RunningMean {
 public:
  // The mean is a copy of `start` at first. weight: of the past, in [0, 1).
  RunningMean(const at::Tensor& start, double weight);
  // After `done` steps, which led to `values` of start's shape: mean = a mean + (1 - a) values with
  // a = min(weight, (1 + done) / (10 + done)), so that the start is soon forgotten.
  void Add(const at::Tensor& values, std::int64_t done);
  [[nodiscard]] const at::Tensor& mean() const { return mean_; }  // updated in place

 private:
  at::Tensor mean_;
  double weight_;
};

}  // namespace retort::worker
