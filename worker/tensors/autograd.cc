#include "worker/tensors/autograd.h"

#include <torch/csrc/autograd/autograd.h>

#include <utility>

namespace retort::worker {

std::vector<at::Tensor> ComputeVectorJacobian(const std::vector<at::Tensor>& outputs,
                                              const std::vector<at::Tensor>& seeds,
                                              const std::vector<at::Tensor>& inputs) {
  return torch::autograd::grad(outputs, inputs, seeds, /*retain_graph=*/false, /*create_graph=*/false,
                               /*allow_unused=*/true);
}

std::vector<at::Tensor> ComputeDifferentiableJacobian(const std::vector<at::Tensor>& outputs,
                                                      const std::vector<at::Tensor>& seeds,
                                                      const std::vector<at::Tensor>& inputs) {
  return torch::autograd::grad(outputs, inputs, seeds, /*retain_graph=*/true, /*create_graph=*/true,
                               /*allow_unused=*/true);
}

namespace {

// Hooks on leaves, taken off again whatever happens.
class LeafHooks {
 public:
  LeafHooks(const std::vector<at::Tensor>& leaves, const std::function<void(std::size_t, const at::Tensor&)>& ready) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const unsigned position =
          leaves[i].register_hook([i, &ready](const at::Tensor& gradient) { ready(i, gradient); });
      hooks_.emplace_back(leaves[i], position);
    }
  }
  LeafHooks(const LeafHooks&) = delete;
  LeafHooks& operator=(const LeafHooks&) = delete;
  ~LeafHooks() {
    for (const auto& [leaf, position] : hooks_) leaf.remove_hook(position);
  }

 private:
  std::vector<std::pair<at::Tensor, unsigned>> hooks_;
};

}  // namespace

void ComputeVectorJacobian(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& seeds,
                           const std::vector<at::Tensor>& leaves,
                           const std::function<void(std::size_t, const at::Tensor&)>& ready) {
  const LeafHooks hooks(leaves, ready);
  static_cast<void>(ComputeVectorJacobian(outputs, seeds, leaves));
}

}  // namespace retort::worker
