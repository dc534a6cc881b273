// Training the last layer of a network whose others are frozen: what that layer sees of an example is the same in every
// step, and the example's gradient is an outer product.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>

#include "worker/data/examples.h"
#include "worker/models/network.h"

namespace retort::worker {

// What the last layer sees of every example, the result of layer `front` (FrozenFront): f32 [examples, values], asked for
// part by part. `prepare` makes a part's images, f32 [rows, C, H, W], what the network takes; empty: they are that.
[[nodiscard]] at::Tensor SeenByHead(const Network& network, std::size_t front, const Examples& examples,
                                    const std::function<at::Tensor(const at::Tensor&)>& prepare = {});

// d CE(softmax(weight seen_i), label_i) / d weight is left_i right_i^T: left f32 [rows, classes], right [rows, values].
struct OuterGradients {
  at::Tensor left, right;
};
// weight [classes, values], seen [rows, values], labels i64 [rows].
[[nodiscard]] OuterGradients HeadGradients(const at::Tensor& weight, const at::Tensor& seen, const at::Tensor& labels);

}  // namespace retort::worker
