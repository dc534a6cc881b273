#include "worker/models/network.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/channel_shuffle.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/relu6.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "worker/models/arenas.h"
#include "worker/models/features/orientations.h"
#include "worker/models/features/patches.h"
#include "worker/models/features/scattering.h"
#include "worker/models/features/whitening.h"
#include "worker/models/layer.h"
#include "worker/models/layer_plan.h"
#include "worker/models/resampling.h"
#include "worker/models/training_scopes.h"
#include "worker/tensors/rng_streams.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

// How a forward pass goes: `dropout` null: no dropout; `training`: batch norms use the batch and move their
// running statistics; `in_place`: layers may overwrite what LayerNode::in_place says.
struct ForwardMode {
  const DropoutMasks* dropout = nullptr;
  bool training = false;
  bool in_place = true;
};

using Kind = LayerKind;

at::Tensor Normalised(const Layer& layer, const LayerNode& node, const at::Tensor& x,
                      const std::vector<at::Tensor>& leaves, const BufferArena& buffers, bool training) {
  const auto norm = static_cast<std::size_t>(node.norm);
  // One value a channel has no variance.
  const bool of_batch = training && x.numel() > x.size(1);
  return at::batch_norm(x, leaves[static_cast<std::size_t>(node.weight)], leaves[static_cast<std::size_t>(node.bias)],
                        buffers.mean(norm), buffers.variance(norm), of_batch, layer.momentum, layer.epsilon,
                        /*cudnn_enabled=*/true);
}

// qkv [rows, tokens, 3 d], as one linear layer makes it.
at::Tensor Attention(const at::Tensor& qkv, std::int64_t heads) {
  const std::int64_t rows = qkv.size(0), tokens = qkv.size(1), width = qkv.size(2) / 3;
  const at::Tensor split = qkv.view({rows, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
  return at::scaled_dot_product_attention(split[0], split[1], split[2]).transpose(1, 2).reshape({rows, tokens, width});
}

at::Tensor Tokens(const at::Tensor& patches, const at::Tensor& first, const at::Tensor& position) {
  const at::Tensor rest = patches.flatten(2).transpose(1, 2);
  return at::cat({first.expand({patches.size(0), -1, -1}), rest}, 1).add_(position);
}

// Option A of He et al. 2016: an identity between different widths and extents.
at::Tensor PaddedShortcut(const Layer& layer, const at::Tensor& x) {
  const std::int64_t added = (layer.out - x.size(1)) / 2;
  const at::Tensor kept = x.slice(2, 0, x.size(2), layer.stride).slice(3, 0, x.size(3), layer.stride);
  return at::constant_pad_nd(kept, {0, 0, 0, 0, added, added});
}

at::Tensor BroadcastPerChannel(const std::vector<double>& values, const at::Tensor& like) {
  std::vector<at::Tensor> each;
  for (const double value : values) each.push_back(at::full({1}, value, like.options()));
  return at::cat(each).view({1, -1, 1, 1});
}

at::Tensor Dropped(const Layer& layer, const LayerNode& node, at::Tensor x, const ForwardMode& mode) {
  if (mode.dropout == nullptr || layer.rate == 0) return x;
  const at::Tensor mask = mode.dropout->Draw(x, layer.rate, node.dropout);
  return node.in_place && mode.in_place ? x.mul_(mask) : x * mask;
}

at::Tensor Activated(const Layer& layer, at::Tensor x, bool in_place) {
  switch (layer.kind) {
    case Kind::relu:
      return in_place ? at::relu_(x) : at::relu(x);
    case Kind::tanh:
      return in_place ? at::tanh_(x) : at::tanh(x);
    case Kind::relu6:
      return in_place ? at::relu6_(x) : at::relu6(x);
    case Kind::leaky:
      return in_place ? at::leaky_relu_(x, layer.rate) : at::leaky_relu(x, layer.rate);
    default:
      return at::gelu(x);
  }
}

at::Tensor Pooled(const Layer& layer, const at::Tensor& x) {
  switch (layer.kind) {
    case Kind::max_pool:
      return at::max_pool2d(x, layer.kernel, layer.stride, layer.padding, 1, layer.ceil);
    case Kind::avg_pool:
      return at::avg_pool2d(x, layer.kernel, layer.stride);
    case Kind::adaptive_avg_pool:
      return PoolTo(x, layer.out, layer.out);
    default:
      return x.mean({2, 3});
  }
}

const storage::TensorBlob* Find(const std::vector<storage::TensorBlob>& blobs, const std::string& name) {
  const auto found = std::find_if(blobs.begin(), blobs.end(), [&](const auto& b) { return b.name == name; });
  return found == blobs.end() ? nullptr : &*found;
}

// Which of the three buffers of a batch norm.
bool EndsWith(const StateEntry& entry, std::string_view name) { return entry.name.ends_with(name); }

// Computes the layer from `inputs`, in the order of node.inputs. `leaves`: the network's parameters.
at::Tensor ForwardLayer(const Layer& layer, const LayerNode& node, const std::vector<at::Tensor>& inputs,
                        const std::vector<at::Tensor>& leaves, const BufferArena& buffers, const ForwardMode& mode) {
  const at::Tensor x = inputs.empty() ? at::Tensor() : inputs.front();
  const auto leaf = [&leaves](std::int32_t at) { return at < 0 ? at::Tensor() : leaves[static_cast<std::size_t>(at)]; };
  const auto constant = [&](std::size_t at) { return buffers.constant(static_cast<std::size_t>(node.constant) + at); };
  const bool in_place = node.in_place && mode.in_place;
  switch (layer.kind) {
    case Kind::conv:
      return at::conv2d(x, leaf(node.weight), leaf(node.bias), layer.stride, layer.padding, layer.dilation,
                        layer.groups);
    case Kind::linear:
      return at::linear(x, leaf(node.weight), leaf(node.bias));
    case Kind::batch_norm:
      return Normalised(layer, node, x, leaves, buffers, mode.training);
    case Kind::group_norm:
      // Other devices' kernels view their input flat.
      return at::group_norm(x.is_cpu() ? x : x.contiguous(), layer.groups, leaf(node.weight), leaf(node.bias),
                            layer.epsilon);
    case Kind::layer_norm:
      return at::layer_norm(x, {x.size(-1)}, leaf(node.weight), leaf(node.bias), layer.epsilon);
    case Kind::relu:
    case Kind::tanh:
    case Kind::relu6:
    case Kind::leaky:
    case Kind::gelu:
      return Activated(layer, x, in_place);
    case Kind::max_pool:
    case Kind::avg_pool:
    case Kind::adaptive_avg_pool:
    case Kind::spatial_mean:
      return Pooled(layer, x);
    case Kind::dropout:
      return Dropped(layer, node, x, mode);
    case Kind::flatten:
      return x.flatten(1);
    case Kind::attention:
      return Attention(x, layer.groups);
    case Kind::class_token:
      return leaf(node.weight);
    case Kind::tokens:
      return Tokens(x, inputs[1], leaf(node.weight));
    case Kind::first_token:
      return x.select(1, 0);
    case Kind::add:
      return in_place ? at::Tensor(x).add_(inputs[1]) : x + inputs[1];
    case Kind::concat:
      return at::cat(inputs, 1);
    case Kind::channel_slice:
      return x.narrow(1, layer.first, layer.out);
    case Kind::channel_shuffle:
      return at::channel_shuffle(x, layer.groups);
    case Kind::hog:
      return OrientationFeatures(x, {layer.out, layer.kernel, layer.stride, layer.padding, layer.rate});
    case Kind::patches:
      return PatchFeatures(x, constant(0), constant(1), layer.rate);
    case Kind::scattering:
      return ScatteringFeatures(x, layer.out);
    case Kind::whiten:
      return Whitened(x, constant(0), constant(1), layer.spread);
    case Kind::pad_shortcut:
      return PaddedShortcut(layer, x);
    case Kind::affine:
      return x * BroadcastPerChannel(layer.scale, x) + BroadcastPerChannel(layer.shift, x);
  }
  CheckFailed("a known layer", __FILE__, __LINE__, layer.name);
}

// Returns the same images, each pixel's channels side by side in memory. For one channel both layouts are the same
// bytes, and only the strides say which one is meant.
at::Tensor ChannelsLast(const at::Tensor& images) {
  if (images.size(1) != 1) return images.contiguous(at::MemoryFormat::ChannelsLast);
  return images.reshape({images.size(0), images.size(2), images.size(3), 1}).permute({0, 3, 1, 2});
}

}  // namespace

Network::Network(std::vector<Layer> layers, ImageShape input, const std::optional<RngStream>& stream, at::Device device)
    : layers_(std::move(layers)), input_(input), plan_(std::move(PlanLayers(layers_, input)).value()) {
  parameters_ = std::make_unique<ParameterArena>(plan_.parameters, stream, device);
  buffers_ = std::make_unique<BufferArena>(plan_.norm_channels, plan_.constants, device);
}

at::Tensor Network::Run(std::size_t last, const at::Tensor& images, const std::optional<DropoutMasks>& dropout,
                        bool training, LayerTrace* trace, at::Tensor* features) const {
  RETORT_CHECK(last < layers_.size() && plan_.nodes[last].runs);
  // What a trace keeps is not overwritten.
  const ForwardMode mode{dropout ? &*dropout : nullptr, training, trace == nullptr};
  if (trace != nullptr) {
    trace->inputs.assign(plan_.traced, {});
    trace->outputs.assign(plan_.traced, {});
  }
  const bool channels_last = plan_.channels_last && PrefersChannelsLast(images.device());
  const at::Tensor start = channels_last ? ChannelsLast(images) : images.contiguous();
  std::vector<at::Tensor> results(layers_.size()), inputs;
  for (std::size_t i = 0; i <= last; ++i) {
    const LayerNode& node = plan_.nodes[i];
    if (!node.runs) continue;
    inputs.clear();
    for (const std::int32_t at : node.inputs)
      inputs.push_back(at == kImages ? start : results[static_cast<std::size_t>(at)]);
    results[i] = ForwardLayer(layers_[i], node, inputs, parameters_->leaves(), *buffers_, mode);
    if (layers_[i].kind == LayerKind::linear && features != nullptr) *features = inputs.front();
    if (trace != nullptr && node.traced >= 0) {
      if (!inputs.empty()) trace->inputs[static_cast<std::size_t>(node.traced)] = inputs.front();
      trace->outputs[static_cast<std::size_t>(node.traced)] = results[i];
    }
    for (const std::int32_t at : node.done) results[static_cast<std::size_t>(at)].reset();
  }
  return results[last];
}

NetworkOutput Network::Forward(const at::Tensor& images, const std::optional<DropoutMasks>& dropout,
                               LayerTrace* trace) const {
  NetworkOutput out;
  out.logits = Run(layers_.size() - 1, images, dropout, /*training=*/false, trace, &out.features);
  return out;
}

NetworkOutput Network::Train(const at::Tensor& images, const std::optional<DropoutMasks>& dropout) {
  CountBatch();
  NetworkOutput out;
  out.logits = Run(layers_.size() - 1, images, dropout, /*training=*/true, nullptr, &out.features);
  return out;
}

at::Tensor Network::ForwardTo(std::size_t last, const at::Tensor& images) const {
  return Run(last, images, std::nullopt, /*training=*/false, nullptr, nullptr);
}

at::Tensor Network::TrainTo(std::size_t last, const at::Tensor& images, const std::optional<DropoutMasks>& dropout) {
  CountBatchTo(last);
  return Run(last, images, dropout, /*training=*/true, nullptr, nullptr);
}

void Network::CountBatchTo(std::size_t last) {
  if (buffers_->empty()) return;
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i <= last; ++i)
    if (const LayerNode& node = plan_.nodes[i]; node.norm >= 0 && node.runs) buffers_->counts()[node.norm].add_(1);
}

void Network::Redraw(const RngStream& stream) {
  parameters_->Redraw(stream);
  buffers_->Reset();
}

bool Network::MixesRows() const {
  return std::any_of(layers_.begin(), layers_.end(), [](const Layer& l) { return worker::MixesRows(l.kind); });
}

at::Tensor Network::EntryTensor(const StateEntry& entry) const {
  if (!entry.buffer) return parameters_->leaves()[entry.index];
  if (entry.constant) return buffers_->constant(entry.index);
  if (EndsWith(entry, ".running_mean")) return buffers_->mean(entry.index);
  if (EndsWith(entry, ".running_var")) return buffers_->variance(entry.index);
  return buffers_->counts()[static_cast<std::int64_t>(entry.index)];
}

std::vector<storage::TensorBlob> Network::StateBlobs(const std::string& prefix) const {
  std::vector<storage::TensorBlob> blobs;
  for (const StateEntry& entry : state()) blobs.push_back(ToBlob(prefix + entry.name, EntryTensor(entry)));
  return blobs;
}

Status Network::LoadState(const std::string& prefix, const std::vector<storage::TensorBlob>& blobs) {
  std::vector<at::Tensor> values;
  for (const StateEntry& entry : state()) {
    const std::string name = prefix + entry.name;
    const storage::TensorBlob* blob = Find(blobs, name);
    if (blob == nullptr) {
      const bool counter = entry.buffer && entry.dtype == storage::DType::i64;
      if (!counter && entry.used) return DamageError("The stored parameters lack '" + name + "'.");
      values.push_back(counter ? at::Tensor(EntryTensor(entry).clone().zero_()) : at::Tensor());
      continue;
    }
    if (blob->shape != entry.shape || blob->dtype != entry.dtype)
      return DamageError("The stored parameter '" + name + "' has another shape or type than the network.");
    RETORT_ASSIGN_OR_RETURN(at::Tensor value, FromBlob(*blob));
    values.push_back(std::move(value));
  }
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].defined()) EntryTensor(state()[i]).copy_(values[i]);
  return {};
}

std::optional<std::size_t> FindFrozenFront(const Network& network) {
  const Layer& last = network.layers().back();
  const LayerNode& node = network.plan().nodes.back();
  if (network.plan().traced != 1 || last.kind != LayerKind::linear || last.bias || node.shape.size() != 1 ||
      node.inputs.front() == kImages)
    return std::nullopt;
  return static_cast<std::size_t>(node.inputs.front());
}

std::vector<BatchNormInput> CollectBatchNormInputs(Network& network, const LayerTrace& trace) {
  std::vector<BatchNormInput> inputs;
  for (const LayerNode& node : network.plan().nodes) {
    if (node.norm < 0 || !node.runs) continue;
    const auto norm = static_cast<std::size_t>(node.norm);
    inputs.push_back({trace.inputs[static_cast<std::size_t>(node.traced)], network.buffers().mean(norm),
                      network.buffers().variance(norm)});
  }
  return inputs;
}

}  // namespace retort::worker
