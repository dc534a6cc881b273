#include "worker/private/head_gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <vector>

namespace retort::worker {

at::Tensor SeenByHead(const Network& network, std::size_t front, const Examples& examples,
                      const std::function<at::Tensor(const at::Tensor&)>& prepare) {
  constexpr std::int64_t kMost = 256;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  const std::int64_t at_once = std::min(kMost, examples.RowsAtOnce());
  for (std::int64_t first = 0; first < examples.size(); first += at_once) {
    const at::Tensor images = examples.Range(first, std::min(at_once, examples.size() - first));
    parts.push_back(network.ForwardTo(front, prepare ? prepare(images) : images));
  }
  RETORT_CHECK(!parts.empty());
  return at::cat(parts);
}

OuterGradients HeadGradients(const at::Tensor& weight, const at::Tensor& seen, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  // One row a class: a softmax over few classes is quick over many examples at once.
  at::Tensor left = at::softmax(at::matmul(weight, seen.t()), 0);
  left.scatter_add_(0, labels.unsqueeze(0), at::full({1, 1}, -1, left.options()).expand({1, labels.size(0)}));
  return {left.t(), seen};
}

}  // namespace retort::worker
