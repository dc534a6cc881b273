// Gradients of single examples, for clipping: of a whole network, of examples with several augmented copies, and of the
// last layer of a network whose others are frozen.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "experiments/base/status.h"
#include "worker/data/examples.h"
#include "worker/models/network.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

// d CE(softmax(logits_i), label_i) / d parameters for every row i, in evaluation mode: f32
// [rows, parameter_count], parameters in order, without the arena's padding. labels: i64 [rows].
// One backward pass to the layers' outputs, then one batched product for each layer. A network whose layers mix
// rows (Network::MixesRows) is a broken invariant.
[[nodiscard]] at::Tensor ComputePerSampleGradients(const Network& network, const at::Tensor& images,
                                                   const at::Tensor& labels);

// How many of these columns belong to each layer that has parameters, in order.
[[nodiscard]] std::vector<std::int64_t> CountLayerCoordinates(const Network& network);

// Copies a flat vector of parameter_count values [parameter_count] into the arena's (padded) gradient.
void SpreadGradient(const at::Tensor& dense, ParameterArena& parameters);

// Examples of which a step sees several augmented copies (De, Berrada, Hayes, Smith and Balle 2022).
struct AugmentedRows {
  at::Tensor rows;          // i64 [k], of the private examples
  at::Tensor labels;        // i64 [k]
  std::int64_t copies = 1;  // of each
};

// Loads the images of these rows at these places of their step.
using ImageLoader = std::function<Result<at::Tensor>(const at::Tensor& rows, const RowPlaces& places)>;

// Every row's gradient (ComputePerSampleGradients), the mean over its copies: f32 [k, parameter_count]. Copy c of
// private example i is the image at place i * copies + c, whichever examples the step sampled: if it depended on them,
// one of them would change the images of all others. One example's mean stays one row, which is clipped once: what an
// example can change in a step's sum is what it could without copies. `most` gradients are held at once besides the
// result: k * copies is at most that, or k is 1. Error: that of the images.
[[nodiscard]] Result<at::Tensor> ComputeMeanGradients(const Network& network, const AugmentedRows& sample,
                                                      std::int64_t most, const ImageLoader& images);

// The input of the last layer for every example, which is the output of layer `front` (FindFrozenFront): f32 [examples,
// values], computed part by part; where the other layers are frozen it is the same in every step. `prepare` converts a
// part's images, f32 [rows, C, H, W], to what the network takes; empty: nothing has to be converted.
[[nodiscard]] at::Tensor ComputeHeadInputs(const Network& network, std::size_t front, const Examples& examples,
                                           const std::function<at::Tensor(const at::Tensor&)>& prepare = {});

// d CE(softmax(weight seen_i), label_i) / d weight is left_i right_i^T: left f32 [rows, classes], right [rows, values].
struct OuterGradients {
  at::Tensor left, right;
};
// weight [classes, values], seen [rows, values], labels i64 [rows].
[[nodiscard]] OuterGradients ComputeHeadGradients(const at::Tensor& weight, const at::Tensor& seen,
                                                  const at::Tensor& labels);

// Whether a network treats each example of a batch by itself: clipping bounds an example's part in a gradient only
// where it does, and batch normalisation does not. Calls `forward` (f32 [2, ...] -> [2, classes]) with the first of
// `images` f32 [3, ...] beside the second and beside the third: true when its output for the first is the same, bit for
// bit.
[[nodiscard]] bool AreExamplesIndependent(const std::function<at::Tensor(const at::Tensor&)>& forward,
                                          const at::Tensor& images);

}  // namespace retort::worker
