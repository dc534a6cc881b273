#include "worker/gradients.h"

#include <torch/csrc/autograd/autograd.h>

namespace retort::worker {

std::vector<at::Tensor> VectorJacobian(const std::vector<at::Tensor>& outputs,
                                       const std::vector<at::Tensor>& seeds,
                                       const std::vector<at::Tensor>& inputs) {
  return torch::autograd::grad(outputs, inputs, seeds, /*retain_graph=*/false, /*create_graph=*/false,
                               /*allow_unused=*/true);
}

}  // namespace retort::worker
