#include "worker/release/post_processing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace retort::worker::release {

at::Tensor ZeroSum(const at::Tensor& values) { return values - values.mean(-1, true); }

at::Tensor SoftTarget(const at::Tensor& student_logits, const at::Tensor& released, double gamma) {
  return student_logits.softmax(-1) - gamma * ZeroSum(released);
}

}  // namespace retort::worker::release
