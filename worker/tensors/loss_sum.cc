#include "worker/tensors/loss_sum.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

namespace retort::worker {

void LossSum::Add(const at::Tensor& value, double weight, double scale, double divisor) {
  const at::NoGradGuard no_grad;
  if (value.is_cpu()) {
    on_host_ += weight * value.item<double>() * scale / divisor;
    return;
  }
  at::Tensor term = value.to(at::kDouble) * weight;
  if (scale != 1) term = term.mul_(scale);
  if (divisor != 1) term = term.div_(divisor);
  on_device_ = on_device_.defined() ? on_device_ + term : term;
}

at::Tensor LossSum::Total() const {
  if (!on_device_.defined()) return at::full({}, on_host_, at::kDouble);
  return on_host_ == 0 ? on_device_ : on_device_ + on_host_;
}

}  // namespace retort::worker
