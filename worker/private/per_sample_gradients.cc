#include "worker/private/per_sample_gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/softmax.h>

#include <vector>

#include "worker/gradients.h"

namespace retort::worker {
namespace {

// Weight gradients of one layer, [rows, out * fan_in].
at::Tensor WeightGradients(const Layer& layer, const at::Tensor& input, const at::Tensor& gradient) {
  const std::int64_t rows = input.size(0);
  if (layer.kind == LayerKind::linear) {
    return at::bmm(gradient.unsqueeze(2), input.unsqueeze(1)).view({rows, -1});
  }
  const at::Tensor patches = at::im2col(input, {layer.kernel, layer.kernel}, {1, 1}, {layer.padding, layer.padding},
                                        {layer.stride, layer.stride});   // [rows, fan_in, places]
  return at::bmm(gradient.flatten(2), patches.transpose(1, 2)).reshape({rows, -1});
}

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
  std::size_t next = 0;
  for (const Layer& layer : network.layers()) {
    if (layer.kind != LayerKind::conv && layer.kind != LayerKind::linear) continue;
    const at::Tensor gradient = gradients[next].contiguous();
    put(WeightGradients(layer, trace.inputs[next].detach().contiguous(), gradient));
    put(layer.kind == LayerKind::linear ? gradient : gradient.sum({2, 3}));
    ++next;
  }
  return all;
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
