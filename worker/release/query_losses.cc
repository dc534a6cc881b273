#include "worker/release/query_losses.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

namespace retort::worker::release {

RowLosses DistillationLosses(const at::Tensor& teacher, const at::Tensor& student, double temperature) {
  const at::NoGradGuard no_grad;
  const at::Tensor wanted = (teacher / temperature).softmax(-1);
  const at::Tensor log_p = (student / temperature).log_softmax(-1);
  return {(wanted * log_p).sum(1).neg_(), (log_p.exp() - wanted).div_(temperature)};
}

RowLosses HintLosses(const at::Tensor& hint, const at::Tensor& adapted) {
  const at::NoGradGuard no_grad;
  at::Tensor difference = adapted - hint;
  const at::Tensor losses = difference.flatten(1).square().sum(1).mul_(0.5);
  return {losses, std::move(difference)};
}

}  // namespace retort::worker::release
