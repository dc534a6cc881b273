#include "worker/models/network.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>

#include <utility>

namespace retort::worker {
namespace {

std::int64_t Shrunk(std::int64_t extent, const Layer& layer) {
  const std::int64_t out = (extent + 2 * layer.padding - layer.kernel) / layer.stride + 1;
  RETORT_CHECK(out > 0);
  return out;
}

void AddParameters(std::vector<ParameterShape>& shapes, const std::string& name,
                   std::vector<std::int64_t> weight, std::int64_t fan_in) {
  const std::int64_t out = weight.front();
  shapes.push_back({name + ".weight", std::move(weight), FanInBound(fan_in)});
  shapes.push_back({name + ".bias", {out}, FanInBound(fan_in)});
}

// Parameter shapes of the layers in order; `features` becomes the width of the last layer.
std::vector<ParameterShape> ShapesOf(const std::vector<Layer>& layers, ImageShape at, std::int64_t& features) {
  std::vector<ParameterShape> shapes;
  features = 0;
  for (const Layer& layer : layers) {
    switch (layer.kind) {
      case LayerKind::conv:
        AddParameters(shapes, layer.name, {layer.out, at.channels, layer.kernel, layer.kernel},
                      at.channels * layer.kernel * layer.kernel);
        at = {layer.out, Shrunk(at.height, layer), Shrunk(at.width, layer)};
        break;
      case LayerKind::max_pool:
        at = {at.channels, Shrunk(at.height, layer), Shrunk(at.width, layer)};
        break;
      case LayerKind::flatten:
        features = at.size();
        break;
      case LayerKind::linear:
        AddParameters(shapes, layer.name, {layer.out, features}, features);
        features = layer.out;
        break;
      case LayerKind::relu:
      case LayerKind::tanh:
      case LayerKind::dropout:
        break;
    }
  }
  return shapes;
}

// The layout in which the kernels are fastest. For one channel both layouts are the same bytes, and only the
// strides say which one is meant.
at::Tensor ChannelsLast(const at::Tensor& images) {
  if (images.size(1) != 1) return images.contiguous(at::MemoryFormat::ChannelsLast);
  return images.reshape({images.size(0), images.size(2), images.size(3), 1}).permute({0, 3, 1, 2});
}

}  // namespace

Network::Network(std::vector<Layer> layers, ImageShape input, const RngStream& stream, at::Device device)
    : layers_(std::move(layers)), input_(input) {
  std::vector<ParameterShape> shapes = ShapesOf(layers_, input_, classes_);
  parameters_ = std::make_unique<ParameterArena>(std::move(shapes), stream, device);
}

NetworkOutput Network::Forward(const at::Tensor& images, const std::optional<RowStream>& dropout,
                               LayerTrace* trace) const {
  const std::vector<at::Tensor>& leaves = parameters_->leaves();
  // What a layer hands on is overwritten by the next one, unless somebody wants to look at it.
  const bool in_place = trace == nullptr;
  at::Tensor x = ChannelsLast(images), features;
  std::size_t next = 0, dropout_layer = 0;
  for (const Layer& layer : layers_) {
    const bool has_parameters = layer.kind == LayerKind::conv || layer.kind == LayerKind::linear;
    if (has_parameters && trace != nullptr) trace->inputs.push_back(x);
    switch (layer.kind) {
      case LayerKind::conv:
        x = at::conv2d(x, leaves[next], leaves[next + 1], layer.stride, layer.padding);
        break;
      case LayerKind::linear:
        features = x;
        x = at::linear(x, leaves[next], leaves[next + 1]);
        break;
      case LayerKind::relu: x = in_place ? at::relu_(x) : at::relu(x); break;
      case LayerKind::tanh: x = in_place ? at::tanh_(x) : at::tanh(x); break;
      case LayerKind::max_pool: x = at::max_pool2d(x, layer.kernel, layer.stride); break;
      case LayerKind::dropout:
        if (dropout) {
          const at::Tensor mask = DropoutMask(
              x, layer.rate, {dropout->stream.Lane(dropout_layer), dropout->first_row});
          x = in_place ? x.mul_(mask) : x * mask;
        }
        ++dropout_layer;
        break;
      case LayerKind::flatten: x = x.flatten(1); break;
    }
    if (has_parameters) {
      next += 2;
      if (trace != nullptr) trace->outputs.push_back(x);
    }
  }
  return {x, features};
}

bool MixesRows(LayerKind kind) {
  switch (kind) {
    case LayerKind::conv:
    case LayerKind::linear:
    case LayerKind::relu:
    case LayerKind::tanh:
    case LayerKind::max_pool:
    case LayerKind::dropout:
    case LayerKind::flatten:
      return false;
  }
  return true;  // a kind that nobody has judged
}

}  // namespace retort::worker
