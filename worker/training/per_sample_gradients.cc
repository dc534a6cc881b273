#include "worker/training/per_sample_gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "worker/tensors/autograd.h"

namespace retort::worker {

namespace {

// A layer with its input and the gradient of its output: input [rows, in, ...], gradient [rows, out, ...]; both
// contiguous, since not every device can view other layouts flat.
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
    case LayerKind::conv:
      return ConvWeight(seen);
    case LayerKind::linear:
      return LinearWeight(seen);
    case LayerKind::group_norm:
    case LayerKind::layer_norm:
      return NormWeight(seen);
    case LayerKind::tokens:
      return seen.gradient.flatten(1);
    default:
      CheckFailed("a layer whose examples stay apart", __FILE__, __LINE__, seen.layer.name);
  }
}

at::Tensor BiasGradients(const Seen& seen) {
  if (seen.gradient.dim() == 4) return seen.gradient.sum({2, 3});
  if (seen.gradient.dim() == 2) return seen.gradient;
  return seen.gradient.reshape({seen.rows(), -1, seen.gradient.size(-1)}).sum(1);
}

// The class token is the first token of every row of the token layer's output.
at::Tensor ClassToken(const Network& network, std::size_t at, const std::vector<at::Tensor>& gradients) {
  const std::vector<LayerNode>& nodes = network.plan().nodes;
  for (const LayerNode& node : nodes)
    if (node.inputs.size() == 2 && node.inputs[1] == static_cast<std::int32_t>(at) && node.traced >= 0)
      return gradients[static_cast<std::size_t>(node.traced)].select(1, 0);
  CheckFailed("a class token that tokens take up", __FILE__, __LINE__, "");
}

at::Tensor Contiguous(const at::Tensor& tensor) { return tensor.detach().contiguous(); }

}  // namespace

at::Tensor ComputePerSampleGradients(const Network& network, const at::Tensor& images, const at::Tensor& labels) {
  LayerTrace trace;
  const NetworkOutput out = network.Forward(images, std::nullopt, &trace);
  const at::Tensor logits = out.logits.detach();
  const at::Tensor seed = at::softmax(logits, 1) - at::one_hot(labels, logits.size(1));
  const std::vector<at::Tensor> gradients = ComputeVectorJacobian({out.logits}, {seed}, trace.outputs);
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

std::vector<std::int64_t> CountLayerCoordinates(const Network& network) {
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

namespace {

// The places of `now` copies of each row, beginning with copy `copy`.
RowPlaces FindPlaces(const at::Tensor& rows, std::int64_t copies, std::int64_t copy, std::int64_t now) {
  const at::Tensor examples = rows.cpu().contiguous();
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < examples.size(0); ++i)
    for (std::int64_t c = 0; c < now; ++c)
      places.push_back(examples.const_data_ptr<std::int64_t>()[i] * copies + copy + c);
  return RowPlaces(std::move(places));
}

}  // namespace

Result<at::Tensor> ComputeMeanGradients(const Network& network, const AugmentedRows& sample, std::int64_t most,
                                        const ImageLoader& images) {
  const std::int64_t rows = sample.rows.size(0), copies = sample.copies;
  RETORT_CHECK(rows == 1 || rows * copies <= most);
  const std::int64_t at_once = rows == 1 ? std::min(copies, most) : copies;
  at::Tensor sum;
  for (std::int64_t copy = 0; copy < copies; copy += at_once) {
    const std::int64_t now = std::min(at_once, copies - copy);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor seen,
                            images(sample.rows.repeat_interleave(now), FindPlaces(sample.rows, copies, copy, now)));
    const at::Tensor gradients = ComputePerSampleGradients(network, seen, sample.labels.repeat_interleave(now));
    if (copies == 1) return gradients;
    const at::Tensor part = gradients.view({rows, now, -1}).sum(1);
    sum = sum.defined() ? sum + part : part;
  }
  return sum / static_cast<double>(copies);
}

at::Tensor ComputeHeadInputs(const Network& network, std::size_t front, const Examples& examples,
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

OuterGradients ComputeHeadGradients(const at::Tensor& weight, const at::Tensor& seen, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  // One row a class: a softmax over few classes is quick over many examples at once.
  at::Tensor left = at::softmax(at::matmul(weight, seen.t()), 0);
  left.scatter_add_(0, labels.unsqueeze(0), at::full({1, 1}, -1, left.options()).expand({1, labels.size(0)}));
  return {left.t(), seen};
}

bool AreExamplesIndependent(const std::function<at::Tensor(const at::Tensor&)>& forward, const at::Tensor& images) {
  RETORT_CHECK(images.size(0) == 3);
  const at::NoGradGuard no_grad;
  const at::Tensor one = forward(images.narrow(0, 0, 2));
  const at::Tensor other = forward(at::cat({images.narrow(0, 0, 1), images.narrow(0, 2, 1)}));
  return at::equal(one[0], other[0]);
}

}  // namespace retort::worker
