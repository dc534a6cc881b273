#include "worker/private/per_sample_gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/softmax.h>

#include <vector>

#include "worker/gradients.h"

namespace retort::worker {
namespace {

// A layer, what it saw and what is known of its result: input [rows, in, ...], gradient [rows, out, ...]; both
// contiguous, for not every device can view other layouts flat.
struct Seen {
  const Layer& layer;
  at::Tensor input, gradient;
  [[nodiscard]] std::int64_t rows() const { return gradient.size(0); }
};

at::Tensor ConvWeight(const Seen& seen) {
  const Layer& l = seen.layer;
  const at::Tensor patches = at::im2col(seen.input, {l.kernel, l.kernel}, {l.dilation, l.dilation},
                                        {l.padding, l.padding}, {l.stride, l.stride});  // [rows, in * window, places]
  const std::int64_t blocks = seen.rows() * l.groups, places = patches.size(2);
  const at::Tensor gradient = seen.gradient.reshape({blocks, l.out / l.groups, places});
  return at::bmm(gradient, patches.reshape({blocks, -1, places}).transpose(1, 2)).reshape({seen.rows(), -1});
}

// The input may have tokens between rows and features.
at::Tensor LinearWeight(const Seen& seen) {
  const std::int64_t in = seen.input.size(-1), out = seen.gradient.size(-1);
  return at::bmm(seen.gradient.reshape({seen.rows(), -1, out}).transpose(1, 2),
                 seen.input.reshape({seen.rows(), -1, in}))
      .reshape({seen.rows(), -1});
}

at::Tensor NormWeight(const Seen& seen) {
  const Layer& l = seen.layer;
  if (l.kind == LayerKind::layer_norm) {
    const at::Tensor normal = at::layer_norm(seen.input, {seen.input.size(-1)}, {}, {}, l.epsilon);
    return (seen.gradient * normal).reshape({seen.rows(), -1, seen.input.size(-1)}).sum(1);
  }
  const at::Tensor normal = at::group_norm(seen.input, l.groups, {}, {}, l.epsilon);
  return (seen.gradient * normal).flatten(2).sum(2);
}

// Weight gradients of one layer, [rows, ...].
at::Tensor WeightGradients(const Seen& seen) {
  switch (seen.layer.kind) {
    case LayerKind::conv: return ConvWeight(seen);
    case LayerKind::linear: return LinearWeight(seen);
    case LayerKind::group_norm:
    case LayerKind::layer_norm:
      return NormWeight(seen);
    case LayerKind::tokens: return seen.gradient.flatten(1);
    default: CheckFailed("a layer whose examples stay apart", __FILE__, __LINE__, seen.layer.name);
  }
}

at::Tensor BiasGradients(const Seen& seen) {
  if (seen.gradient.dim() == 4) return seen.gradient.sum({2, 3});
  if (seen.gradient.dim() == 2) return seen.gradient;
  return seen.gradient.reshape({seen.rows(), -1, seen.gradient.size(-1)}).sum(1);
}

// The class token goes into every row of what the layer of tokens makes, in front.
at::Tensor ClassToken(const Network& network, std::size_t at, const std::vector<at::Tensor>& gradients) {
  const std::vector<LayerNode>& nodes = network.plan().nodes;
  for (const LayerNode& node : nodes)
    if (node.inputs.size() == 2 && node.inputs[1] == static_cast<std::int32_t>(at) && node.traced >= 0)
      return gradients[static_cast<std::size_t>(node.traced)].select(1, 0);
  CheckFailed("a class token that tokens take up", __FILE__, __LINE__, "");
}

at::Tensor Contiguous(const at::Tensor& tensor) { return tensor.detach().contiguous(); }

}  // namespace

at::Tensor PerSampleGradients(const Network& network, const at::Tensor& images, const at::Tensor& labels) {
  LayerTrace trace;
  const NetworkOutput out = network.Forward(images, std::nullopt, &trace);
  const at::Tensor logits = out.logits.detach();
  const at::Tensor seed = at::softmax(logits, 1) - at::one_hot(labels, logits.size(1));
  const std::vector<at::Tensor> gradients = VectorJacobian({out.logits}, {seed}, trace.outputs);
  const at::NoGradGuard no_grad;
  const std::int64_t rows = images.size(0);
  at::Tensor all = at::empty({rows, network.parameters().parameter_count()}, logits.options());
  std::int64_t column = 0;
  const auto put = [&](const at::Tensor& part) {
    all.narrow(1, column, part.size(1)).copy_(part);
    column += part.size(1);
  };
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const LayerNode& node = network.plan().nodes[i];
    if (node.traced < 0) continue;
    const Layer& layer = network.layers()[i];
    const auto traced = static_cast<std::size_t>(node.traced);
    if (layer.kind == LayerKind::class_token) {
      put(ClassToken(network, i, gradients));
      continue;
    }
    const Seen seen{layer, Contiguous(trace.inputs[traced]), Contiguous(gradients[traced])};
    put(WeightGradients(seen));
    if (node.bias >= 0) put(BiasGradients(seen));
  }
  RETORT_CHECK(column == all.size(1));
  return all;
}

std::vector<std::int64_t> LayerCoordinates(const Network& network) {
  const std::vector<at::Tensor>& leaves = network.parameters().leaves();
  std::vector<std::int64_t> coordinates;
  for (const LayerNode& node : network.plan().nodes) {
    if (node.traced < 0) continue;
    std::int64_t count = leaves[static_cast<std::size_t>(node.weight)].numel();
    if (node.bias >= 0) count += leaves[static_cast<std::size_t>(node.bias)].numel();
    coordinates.push_back(count);
  }
  return coordinates;
}

void SpreadGradient(const at::Tensor& dense, ParameterArena& parameters) {
  std::vector<at::Tensor> parts;
  std::int64_t first = 0;
  for (const at::Tensor& leaf : parameters.leaves()) {
    parts.push_back(dense.narrow(0, first, leaf.numel()).view(leaf.sizes()));
    first += leaf.numel();
  }
  RETORT_CHECK(first == dense.numel());
  parameters.Gather(parts);
}

}  // namespace retort::worker
