#include "worker/optim/running_mean.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace retort::worker {

RunningMean::RunningMean(const at::Tensor& start, double weight) : mean_(start.detach().clone()), weight_(weight) {}

void RunningMean::Add(const at::Tensor& values, std::int64_t done) {
  const at::NoGradGuard no_grad;
  const auto steps = static_cast<double>(done);
  const double past = std::min(weight_, (1 + steps) / (10 + steps));
  mean_.mul_(past).add_(values, 1 - past);
}

}  // namespace retort::worker
