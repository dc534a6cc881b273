// The one door to torch's autograd, so that its headers are compiled once.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace retort::worker {

// Vector-Jacobian products: sum_k <seeds[k], outputs[k]> differentiated by each of `inputs`. The graph is
// freed. Inputs that the outputs do not reach give an undefined tensor.
[[nodiscard]] std::vector<at::Tensor> VectorJacobian(const std::vector<at::Tensor>& outputs,
                                                     const std::vector<at::Tensor>& seeds,
                                                     const std::vector<at::Tensor>& inputs);

}  // namespace retort::worker
