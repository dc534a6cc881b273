// Gradients of each example by itself, for clipping.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "worker/models/network.h"

namespace retort::worker {

// d CE(softmax(logits_i), label_i) / d parameters for every row i, in evaluation mode: f32
// [rows, parameter_count], parameters in order, without the arena's padding. labels: i64 [rows].
// One backward pass to the layers' outputs, then one batched product for each layer. A network whose layers mix
// rows (Network::MixesRows) is a broken invariant.
[[nodiscard]] at::Tensor PerSampleGradients(const Network& network, const at::Tensor& images,
                                            const at::Tensor& labels);

// How many of these columns belong to each layer that has parameters, in order.
[[nodiscard]] std::vector<std::int64_t> LayerCoordinates(const Network& network);

// Copies a flat vector of parameter_count values [parameter_count] into the arena's (padded) gradient.
void SpreadGradient(const at::Tensor& dense, ParameterArena& parameters);

}  // namespace retort::worker
