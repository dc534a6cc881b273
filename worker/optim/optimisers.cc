#include "worker/optim/optimisers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "experiments/base/status.h"

namespace retort::worker {

namespace {

// CUDA's kernels read a rate of the device as f32, so that one of the CPU is rounded alike there.
double ReadRate(const at::Tensor& rate, const at::Tensor& parameters) {
  const double exact = rate.item<double>();
  return parameters.is_cuda() ? static_cast<float>(exact) : exact;
}

at::Tensor AsKernelsRead(const at::Tensor& rate) { return rate.is_cuda() ? rate.to(at::kFloat) : rate; }

}  // namespace

at::Tensor MakeRate(double rate) { return at::full({}, rate, at::kDouble); }

Adam::Adam(std::int64_t size, const AdamSettings& settings, at::Device device)
    : settings_(settings),
      moments_(at::zeros({2, size}, at::device(device).dtype(at::kFloat))),
      count_(at::zeros({1}, at::device(device).dtype(at::kLong))) {}

void Adam::Step(at::Tensor& parameters, const at::Tensor& gradient, const at::Tensor& rate) {
  RETORT_CHECK(parameters.numel() == moments_.size(1) && gradient.numel() == moments_.size(1));
  RETORT_CHECK(parameters.is_contiguous() && gradient.is_contiguous());
  RETORT_CHECK(parameters.device() == moments_.device() && gradient.device() == moments_.device());
  const at::NoGradGuard no_grad;
  const at::Tensor count = count_.add_(1).select(0, 0).to(at::kFloat);
  const auto step = [&](const auto& by) {
    at::_fused_adamw_({parameters.view(-1)}, {gradient.view(-1)}, {moments_[0]}, {moments_[1]}, /*max_exp_avg_sqs=*/{},
                      {count}, by, settings_.beta1, settings_.beta2, settings_.weight_decay, settings_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  };
  if (rate.is_cpu())
    step(ReadRate(rate, parameters));
  else
    step(AsKernelsRead(rate));
}

void Adam::Step(at::Tensor& parameters, const at::Tensor& gradient, double rate) {
  Step(parameters, gradient, MakeRate(rate));
}

void Adam::Register(TrainState& state, const std::string& prefix) const {
  state.Add(prefix + "moments", moments_);
  state.Add(prefix + "count", count_);
}

void Adam::Reset() {
  moments_.zero_();
  count_.zero_();
}

Sgd::Sgd(std::int64_t size, const SgdSettings& settings, at::Device device)
    : settings_(settings), velocity_(at::zeros({size}, at::device(device).dtype(at::kFloat))) {}

// The kernel takes no velocity where there is no momentum.
void Sgd::Step(at::Tensor& parameters, const at::Tensor& gradient, const at::Tensor& rate) {
  RETORT_CHECK(parameters.numel() == velocity_.numel() && gradient.numel() == velocity_.numel());
  RETORT_CHECK(parameters.is_contiguous() && gradient.is_contiguous());
  RETORT_CHECK(parameters.device() == velocity_.device() && gradient.device() == velocity_.device());
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> velocities;
  if (settings_.momentum != 0) velocities.push_back(velocity_);
  const auto step = [&](const auto& by) {
    at::_fused_sgd_({parameters.view(-1)}, {gradient.view(-1)}, velocities, settings_.weight_decay, settings_.momentum,
                    by, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false);
  };
  if (rate.is_cpu())
    step(ReadRate(rate, parameters));
  else
    step(AsKernelsRead(rate));
}

void Sgd::Step(at::Tensor& parameters, const at::Tensor& gradient, double rate) {
  Step(parameters, gradient, MakeRate(rate));
}

void Sgd::Register(TrainState& state, const std::string& prefix) const { state.Add(prefix + "velocity", velocity_); }

void Sgd::Reset() { velocity_.zero_(); }

RunningMean::RunningMean(const at::Tensor& start, double weight) : mean_(start.detach().clone()), weight_(weight) {}

void RunningMean::Add(const at::Tensor& values, std::int64_t done) {
  const at::NoGradGuard no_grad;
  const auto steps = static_cast<double>(done);
  const double past = std::min(weight_, (1 + steps) / (10 + steps));
  mean_.mul_(past).add_(values, 1 - past);
}

}  // namespace retort::worker
