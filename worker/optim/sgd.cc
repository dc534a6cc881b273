#include "worker/optim/sgd.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "experiments/spec/status.h"

namespace retort::worker {

Sgd::Sgd(std::int64_t size, const SgdSettings& settings, at::Device device)
    : settings_(settings), velocity_(at::zeros({size}, at::device(device).dtype(at::kFloat))) {}

void Sgd::Step(at::Tensor& parameters, const at::Tensor& gradient, double learning_rate) {
  RETORT_CHECK(parameters.numel() == velocity_.numel() && gradient.numel() == velocity_.numel());
  const at::NoGradGuard no_grad;
  velocity_.mul_(settings_.momentum).add_(gradient);
  if (settings_.weight_decay != 0) velocity_.add_(parameters, settings_.weight_decay);
  parameters.add_(velocity_, -learning_rate);
}

void Sgd::Register(TrainState& state, const std::string& prefix) const {
  state.Add(prefix + "velocity", velocity_);
}

void Sgd::Reset() { velocity_.zero_(); }

}  // namespace retort::worker
