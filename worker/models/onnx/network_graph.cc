#include "worker/models/onnx/network_graph.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "worker/models/features/orientations.h"
#include "worker/models/layer_plan.h"
#include "worker/models/layer_text.h"
#include "worker/models/onnx/feature_graphs.h"

namespace retort::worker::onnx {
namespace {

using Kind = LayerKind;
using Integers = std::vector<std::int64_t>;

// A layer, the values that it takes, and their shapes without the rows.
struct Place {
  GraphBuilder& graph;
  const Layer& layer;
  const LayerNode& node;
  std::vector<std::string> inputs;
  std::vector<Shape> shapes;

  [[nodiscard]] const std::string& x() const { return inputs.front(); }
  [[nodiscard]] const Shape& shape() const { return shapes.front(); }
  [[nodiscard]] ImageShape image() const { return {shape().at(0), shape().at(1), shape().at(2)}; }
  [[nodiscard]] std::string Weight() const { return graph.UseState(layer.name + layer.joint + "weight"); }
  [[nodiscard]] std::string Bias() const { return graph.UseState(layer.name + layer.joint + "bias"); }
  [[nodiscard]] std::string Entry(const char* part) const { return graph.UseState(layer.name + "." + part); }
  [[nodiscard]] Integers Windows() const { return {layer.kernel, layer.kernel}; }
  [[nodiscard]] Integers Strides() const { return {layer.stride, layer.stride}; }
};

// `own`: the attribute that the operator alone has.
std::string AddConvolution(const Place& place, const char* op, storage::OnnxAttribute own) {
  const Layer& layer = place.layer;
  std::vector<std::string> inputs = {place.x(), place.Weight()};
  if (layer.bias) inputs.push_back(place.Bias());
  return place.graph.Add(op, std::move(inputs),
                         {{"kernel_shape", place.Windows()},
                          {"strides", place.Strides()},
                          {"pads", Integers(4, layer.padding)},
                          std::move(own),
                          {"group", layer.groups}});
}

std::string AddLinear(const Place& place) {
  if (place.shape().size() == 1) {
    const std::string joined = place.layer.name + place.layer.joint;
    return place.graph.MultiplyByState(place.x(), joined + "weight", place.layer.bias ? joined + "bias" : "");
  }
  const std::string columns = place.graph.Add("Transpose", {place.Weight()}, {{"perm", Integers{1, 0}}});
  const std::string product = place.graph.Add("MatMul", {place.x(), columns});
  return place.layer.bias ? place.graph.Add("Add", {product, place.Bias()}) : product;
}

// Without running statistics: by those of the batch at hand.
std::string AddBatchNorm(const Place& place) {
  if (!place.layer.tracked) {
    const auto rank = static_cast<std::int64_t>(place.shape().size()) + 1;
    if (!place.layer.affine) return place.graph.Normalise(place.x(), rank, place.layer.epsilon);
    return place.graph.NormaliseAndScale(place.x(), rank, place.layer.epsilon, place.layer.name);
  }
  return place.graph.Add(
      "BatchNormalization",
      {place.x(), place.Entry("weight"), place.Entry("bias"), place.Entry("running_mean"), place.Entry("running_var")},
      {{"epsilon", place.layer.epsilon}});
}

// Of opset 17 there is no group norm: each group is normalised as an instance, then its channels are scaled.
std::string AddGroupNorm(const Place& place) {
  GraphBuilder& graph = place.graph;
  const at::Tensor ones = at::ones({place.layer.groups}, at::kFloat),
                   zeros = at::zeros({place.layer.groups}, at::kFloat);
  const std::string grouped = graph.Reshape(place.x(), {0, place.layer.groups, -1});
  const std::string normed =
      graph.Add("InstanceNormalization", {grouped, graph.AddTensor(ones), graph.AddTensor(zeros)},
                {{"epsilon", place.layer.epsilon}});
  Shape whole = place.shape();
  whole.insert(whole.begin(), 0);
  Shape channels(place.shape().size(), 1);
  channels.front() = place.shape().front();
  const std::string back = graph.Reshape(normed, whole);
  const std::string scaled = graph.Add("Mul", {back, graph.Reshape(place.Entry("weight"), channels)});
  return graph.Add("Add", {scaled, graph.Reshape(place.Entry("bias"), channels)});
}

std::string AddLayerNorm(const Place& place) {
  return place.graph.Add("LayerNormalization", {place.x(), place.Entry("weight"), place.Entry("bias")},
                         {{"axis", -1}, {"epsilon", place.layer.epsilon}});
}

std::string AddActivation(const Place& place) {
  GraphBuilder& graph = place.graph;
  switch (place.layer.kind) {
    case Kind::relu:
      return graph.Add("Relu", {place.x()});
    case Kind::tanh:
      return graph.Add("Tanh", {place.x()});
    case Kind::sigmoid:
      return graph.Add("Sigmoid", {place.x()});
    case Kind::relu6:
      return graph.Add("Clip", {place.x(), graph.AddNumber(0), graph.AddNumber(6)});
    case Kind::leaky:
      return graph.Add("LeakyRelu", {place.x()}, {{"alpha", place.layer.rate}});
    default:
      break;
  }
  const std::string error = graph.Add("Erf", {graph.Scale(place.x(), 1 / std::sqrt(2.0))});
  return graph.Scale(graph.Add("Mul", {place.x(), graph.Add("Add", {error, graph.AddNumber(1)})}), 0.5);
}

// Rows of windows that are begun and not filled are padding behind the image: readers differ in what ceil_mode means.
std::string AddMaxPool(const Place& place) {
  const Layer& layer = place.layer;
  const auto behind = [&](std::size_t side) {
    const std::int64_t reached = (place.node.shape.at(side) - 1) * layer.stride + layer.kernel;
    return std::max<std::int64_t>(reached - place.shape().at(side) - layer.padding, 0);
  };
  return place.graph.Add("MaxPool", {place.x()},
                         {{"kernel_shape", place.Windows()},
                          {"strides", place.Strides()},
                          {"pads", Integers{layer.padding, layer.padding, behind(1), behind(2)}}});
}

std::string AddPool(const Place& place) {
  switch (place.layer.kind) {
    case Kind::max_pool:
      return AddMaxPool(place);
    case Kind::avg_pool:
      return place.graph.Add("AveragePool", {place.x()},
                             {{"kernel_shape", place.Windows()}, {"strides", place.Strides()}});
    case Kind::adaptive_avg_pool:
      return AddPoolTo(place.graph, place.x(), place.image(), place.layer.out, place.layer.out);
    default:
      return place.graph.Add("ReduceMean", {place.x()}, {{"axes", Integers{2, 3}}, {"keepdims", 0}});
  }
}

std::string AddAttention(const Place& place) {
  GraphBuilder& graph = place.graph;
  const std::int64_t tokens = place.shape().at(0), width = place.shape().at(1) / 3, heads = place.layer.groups;
  const std::string split = graph.Add("Transpose", {graph.Reshape(place.x(), {0, tokens, 3, heads, width / heads})},
                                      {{"perm", Integers{2, 0, 3, 1, 4}}});
  const auto part = [&](std::int64_t which) {
    return graph.Add("Gather", {split, graph.AddInteger(which)}, {{"axis", 0}});
  };
  const std::string keys = graph.Add("Transpose", {part(1)}, {{"perm", Integers{0, 1, 3, 2}}});
  const double factor = 1 / std::sqrt(static_cast<double>(width / heads));
  const std::string scores = graph.Scale(graph.Add("MatMul", {part(0), keys}), factor);
  const std::string seen = graph.Add("MatMul", {graph.Add("Softmax", {scores}, {{"axis", -1}}), part(2)});
  return graph.Reshape(graph.Add("Transpose", {seen}, {{"perm", Integers{0, 2, 1, 3}}}), {0, tokens, width});
}

// The class token is a first row, which the patches have as zeros, and all of them as zeros in its place.
std::string AddTokens(const Place& place) {
  GraphBuilder& graph = place.graph;
  const std::int64_t width = place.shape().at(0), patches = place.shape().at(1) * place.shape().at(2);
  const std::string rows =
      graph.Add("Transpose", {graph.Reshape(place.x(), {0, width, patches})}, {{"perm", Integers{0, 2, 1}}});
  const std::string first = graph.Pad(place.inputs[1], {0, 0, 0, 0, patches, 0});
  const std::string all = graph.Add("Add", {graph.Pad(rows, {0, 1, 0, 0, 0, 0}), first});
  return graph.Add("Add", {all, graph.UseState(place.layer.name)});
}

std::string AddPadShortcut(const Place& place) {
  const std::int64_t added = (place.layer.out - place.shape().at(0)) / 2, step = place.layer.stride;
  std::string kept = place.x();
  for (const std::int64_t side : {1, 2})
    if (step > 1) kept = place.graph.Slice(kept, side + 1, 0, place.shape().at(static_cast<std::size_t>(side)), step);
  return added == 0 ? kept : place.graph.Pad(kept, {0, added, 0, 0, 0, added, 0, 0});
}

std::string AddChannelShuffle(const Place& place) {
  const std::int64_t groups = place.layer.groups, channels = place.shape().at(0);
  const std::string split =
      place.graph.Reshape(place.x(), {0, groups, channels / groups, place.shape().at(1), place.shape().at(2)});
  const std::string turned = place.graph.Add("Transpose", {split}, {{"perm", Integers{0, 2, 1, 3, 4}}});
  return place.graph.Reshape(turned, {0, channels, place.shape().at(1), place.shape().at(2)});
}

std::string AddAffine(const Place& place) {
  const std::string scaled = place.graph.CombineByChannel("Mul", place.x(), place.layer.scale);
  return place.graph.CombineByChannel("Add", scaled, place.layer.shift);
}

std::string AddFrozen(const Place& place) {
  const Layer& layer = place.layer;
  switch (layer.kind) {
    case Kind::hog:
      return AddOrientations(place.graph, place.x(), place.image(),
                             {layer.out, layer.kernel, layer.stride, layer.padding, layer.rate});
    case Kind::patches:
      return AddPatches(place.graph, place.x(), place.image(),
                        {place.Entry("filters"), place.Entry("offset"), layer.out, layer.kernel, layer.rate});
    case Kind::scattering:
      return AddScattering(place.graph, place.x(), place.image(), layer.out);
    default:
      return AddWhitening(place.graph, place.x(), place.Entry("mean"), place.Entry("components"), layer.spread);
  }
}

std::string AddLayer(const Place& place) {
  switch (place.layer.kind) {
    case Kind::conv:
      return AddConvolution(place, "Conv", {"dilations", Integers(2, place.layer.dilation)});
    case Kind::linear:
      return AddLinear(place);
    case Kind::batch_norm:
      return AddBatchNorm(place);
    case Kind::group_norm:
      return AddGroupNorm(place);
    case Kind::layer_norm:
      return AddLayerNorm(place);
    case Kind::relu:
    case Kind::tanh:
    case Kind::sigmoid:
    case Kind::relu6:
    case Kind::gelu:
    case Kind::leaky:
      return AddActivation(place);
    case Kind::max_pool:
    case Kind::avg_pool:
    case Kind::adaptive_avg_pool:
    case Kind::spatial_mean:
      return AddPool(place);
    case Kind::dropout:
      return place.x();
    case Kind::flatten:
      return place.graph.Add("Flatten", {place.x()}, {{"axis", 1}});
    case Kind::attention:
      return AddAttention(place);
    case Kind::class_token:
      return place.graph.UseState(place.layer.name);
    case Kind::tokens:
      return AddTokens(place);
    case Kind::first_token:
      return place.graph.Add("Gather", {place.x(), place.graph.AddInteger(0)}, {{"axis", 1}});
    case Kind::add:
      return place.graph.Add("Add", place.inputs);
    case Kind::concat:
      return place.graph.Add("Concat", place.inputs, {{"axis", 1}});
    case Kind::channel_slice:
      return place.graph.Slice(place.x(), 1, place.layer.first, place.layer.first + place.layer.out);
    case Kind::channel_shuffle:
      return AddChannelShuffle(place);
    case Kind::affine:
      return AddAffine(place);
    case Kind::pad_shortcut:
      return AddPadShortcut(place);
    case Kind::reshape:
      return place.graph.Reshape(place.x(), {0, place.layer.out, place.layer.height, place.layer.width});
    case Kind::upsample:
      return place.graph.Enlarge(place.x(), place.layer.factor, place.layer.bilinear);
    case Kind::conv_transpose:
      return AddConvolution(place, "ConvTranspose", {"output_padding", Integers(2, place.layer.output_padding)});
    case Kind::hog:
    case Kind::patches:
    case Kind::scattering:
    case Kind::whiten:
      return AddFrozen(place);
  }
  CheckFailed("a known layer", __FILE__, __LINE__, place.layer.name);
}

}  // namespace

std::string AddLayers(GraphBuilder& graph, const std::vector<Layer>& layers, const LayerPlan& plan,
                      const std::string& start, const Shape& start_shape) {
  std::vector<std::string> results(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerNode& node = plan.nodes[i];
    if (!node.runs) continue;
    Place place{graph, layers[i], node, {}, {}};
    for (const std::int32_t from : node.inputs) {
      const auto index = static_cast<std::size_t>(from);
      place.inputs.push_back(from == kImages ? start : results[index]);
      place.shapes.push_back(from == kImages ? start_shape : plan.nodes[index].shape);
    }
    graph.Enter(std::to_string(i) + "." + (layers[i].name.empty() ? GetKindName(layers[i].kind) : layers[i].name));
    results[i] = AddLayer(place);
  }
  return results.back();
}

Result<StatelessGraph> MakeNetworkGraph(const std::vector<Layer>& layers, ImageShape images) {
  RETORT_ASSIGN_OR_RETURN(const LayerPlan plan, PlanLayers(layers, images));
  GraphBuilder graph("network");
  const Shape image = {images.channels, images.height, images.width};
  const std::string start = graph.AddInput(kImageInput, storage::DType::f32, AddRows(image));
  const std::string logits = AddLayers(graph, layers, plan, start, image);
  return std::move(graph).Finish(logits, kLogits, AddRows(plan.nodes.back().shape));
}

}  // namespace retort::worker::onnx
