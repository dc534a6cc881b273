#include "worker/optim/adam.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "experiments/spec/status.h"
#include "worker/widest.h"

namespace retort::worker {
namespace {

struct Factors {
  float beta1, beta2, epsilon, decay, rate, scale;   // rate = lr / (1 - beta1^t), scale = 1 / sqrt(1 - beta2^t)
};

RETORT_WIDEST void Update(float* __restrict p, float* __restrict m, float* __restrict v,
                          const float* __restrict g, std::int64_t n, const Factors& f) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float mean = f.beta1 * m[i] + (1.0F - f.beta1) * g[i];
    const float variance = f.beta2 * v[i] + (1.0F - f.beta2) * g[i] * g[i];
    m[i] = mean;
    v[i] = variance;
    p[i] = f.decay * p[i] - f.rate * mean / (__builtin_sqrtf(variance) * f.scale + f.epsilon);
  }
}

// The same operations in the same order, each in a pass of its own.
void UpdateOnDevice(at::Tensor& p, const at::Tensor& moments, const at::Tensor& g, const Factors& f) {
  const at::Tensor m = moments[0], v = moments[1];
  m.mul_(f.beta1).add_(g * (1.0F - f.beta1));
  v.mul_(f.beta2).add_((g * (1.0F - f.beta2)).mul_(g));
  const at::Tensor divisor = v.sqrt().mul_(f.scale).add_(f.epsilon);
  p.mul_(f.decay).sub_((m * f.rate).div_(divisor));
}

}  // namespace

Adam::Adam(std::int64_t size, const AdamSettings& settings, at::Device device)
    : settings_(settings),
      moments_(at::zeros({2, size}, at::device(device).dtype(at::kFloat))),
      count_(at::zeros({1}, at::kLong)) {}

void Adam::Step(at::Tensor& parameters, const at::Tensor& gradient, double learning_rate) {
  const std::int64_t n = moments_.size(1);
  RETORT_CHECK(parameters.numel() == n && gradient.numel() == n);
  RETORT_CHECK(parameters.is_contiguous() && gradient.is_contiguous());
  RETORT_CHECK(parameters.device() == moments_.device() && gradient.device() == moments_.device());
  const auto t = static_cast<double>(++*count_.mutable_data_ptr<std::int64_t>());
  const Factors f{.beta1 = static_cast<float>(settings_.beta1),
                  .beta2 = static_cast<float>(settings_.beta2),
                  .epsilon = static_cast<float>(settings_.epsilon),
                  .decay = static_cast<float>(1 - learning_rate * settings_.weight_decay),
                  .rate = static_cast<float>(learning_rate / (1 - std::pow(settings_.beta1, t))),
                  .scale = static_cast<float>(1 / std::sqrt(1 - std::pow(settings_.beta2, t)))};
  if (!moments_.is_cpu()) return UpdateOnDevice(parameters, moments_, gradient, f);
  float* p = parameters.mutable_data_ptr<float>();
  float* m = moments_.mutable_data_ptr<float>();
  const float* g = gradient.const_data_ptr<float>();
  at::parallel_for(0, n, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    Update(p + begin, m + begin, m + n + begin, g + begin, end - begin, f);
  });
}

void Adam::Register(TrainState& state, const std::string& prefix) const {
  state.Add(prefix + "moments", moments_);
  state.Add(prefix + "count", count_);
}

void Adam::Reset() {
  moments_.zero_();
  count_.zero_();
}

}  // namespace retort::worker
