#include "worker/private/head_gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <vector>

namespace retort::worker {

at::Tensor SeenByHead(const Network& network, std::size_t front, const Examples& examples) {
  constexpr std::int64_t kAtOnce = 256;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < examples.size(); first += kAtOnce)
    parts.push_back(network.ForwardTo(front, examples.Range(first, std::min(kAtOnce, examples.size() - first))));
  RETORT_CHECK(!parts.empty());
  return at::cat(parts);
}

OuterGradients HeadGradients(const at::Tensor& weight, const at::Tensor& seen, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  const at::Tensor logits = at::matmul(seen, weight.t());
  return {at::softmax(logits, 1) - at::one_hot(labels, weight.size(0)), seen};
}

}  // namespace retort::worker
