// The only file that includes torch's autograd, so that its headers are compiled once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace retort::worker {

// Vector-Jacobian products: sum_k <seeds[k], outputs[k]> differentiated by each of `inputs`. The graph is
// freed. Inputs that the outputs do not reach give an undefined tensor.
[[nodiscard]] std::vector<at::Tensor> ComputeVectorJacobian(const std::vector<at::Tensor>& outputs,
                                                            const std::vector<at::Tensor>& seeds,
                                                            const std::vector<at::Tensor>& inputs);

// The same, as a part of the graph, which is kept: what is computed from the products can be differentiated in turn.
[[nodiscard]] std::vector<at::Tensor> ComputeDifferentiableJacobian(const std::vector<at::Tensor>& outputs,
                                                                    const std::vector<at::Tensor>& seeds,
                                                                    const std::vector<at::Tensor>& inputs);

// As ComputeVectorJacobian, for leaves, handing each product to `ready` (index into `leaves`, gradient) as soon as it
// is known, while the rest is still computed, in an order that the graph alone decides. Leaves that the outputs do not
// reach are not handed over.
void ComputeVectorJacobian(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& seeds,
                           const std::vector<at::Tensor>& leaves,
                           const std::function<void(std::size_t, const at::Tensor&)>& ready);

}  // namespace retort::worker
