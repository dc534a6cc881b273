#include "worker/models/layer_forward.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_upsample_nearest_exact2d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/channel_shuffle.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
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
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

#include <cstddef>
#include <cstdint>

#include "experiments/base/status.h"
#include "worker/gang/gang_batch_norm.h"
#include "worker/models/features/orientations.h"
#include "worker/models/features/patches.h"
#include "worker/models/features/scattering.h"
#include "worker/models/features/whitening.h"
#include "worker/models/resampling.h"

namespace retort::worker {
namespace {

// A layer writes no number of rows into its operations, so that TorchScript's recording of one batch
// (recorded_module.h) holds for every other.

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
  const std::int64_t tokens = qkv.size(1), width = qkv.size(2) / 3;
  const at::Tensor split = qkv.view({-1, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
  return at::scaled_dot_product_attention(split[0], split[1], split[2]).transpose(1, 2).reshape({-1, tokens, width});
}

at::Tensor Tokens(const at::Tensor& patches, const at::Tensor& first, const at::Tensor& position) {
  const at::Tensor rest = patches.flatten(2).transpose(1, 2);
  return at::cat({first.expand_as(rest.narrow(1, 0, 1)), rest}, 1).add_(position);
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
    case Kind::sigmoid:
      return in_place ? at::sigmoid_(x) : at::sigmoid(x);
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

at::Tensor Reshaped(const Layer& layer, const at::Tensor& x, bool channels_last) {
  const at::Tensor planes = x.reshape({-1, layer.out, layer.height, layer.width});
  return channels_last ? planes.contiguous(at::MemoryFormat::ChannelsLast) : planes;
}

at::Tensor Upsampled(const Layer& layer, const at::Tensor& x) {
  if (layer.bilinear) return DoubleBilinear(x);
  // upsample_nearest2d takes the pixel before where the float32 of 1 / factor is too small, as that of 1 / 41 is.
  return at::_upsample_nearest_exact2d(x, {layer.factor * x.size(2), layer.factor * x.size(3)});
}

}  // namespace

at::Tensor NormaliseByBatch(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
                            Collective* gang) {
  if (gang == nullptr || gang->size() == 1)
    return at::batch_norm(x, weight, bias, {}, {}, /*training=*/true, /*momentum=*/0, epsilon,
                          /*cudnn_enabled=*/false);
  if (x.dim() == 4) return GangBatchNorm(x, weight, bias, epsilon, *gang);
  return GangBatchNorm(x.unsqueeze(2).unsqueeze(3), weight, bias, epsilon, *gang).flatten(1);
}

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
      if (node.norm < 0) return NormaliseByBatch(x, leaf(node.weight), leaf(node.bias), layer.epsilon, mode.gang);
      return Normalised(layer, node, x, leaves, buffers, mode.training);
    case Kind::group_norm:
      // Other devices' kernels view their input flat.
      return at::group_norm(x.is_cpu() ? x : x.contiguous(), layer.groups, leaf(node.weight), leaf(node.bias),
                            layer.epsilon);
    case Kind::layer_norm:
      return at::layer_norm(x, {x.size(-1)}, leaf(node.weight), leaf(node.bias), layer.epsilon);
    case Kind::relu:
    case Kind::tanh:
    case Kind::sigmoid:
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
      return ComputeOrientationFeatures(x, {layer.out, layer.kernel, layer.stride, layer.padding, layer.rate});
    case Kind::patches:
      return ComputePatchFeatures(x, constant(0), constant(1), layer.rate);
    case Kind::scattering:
      return ComputeScatteringFeatures(x, layer.out);
    case Kind::whiten:
      return WhitenRows(x, constant(0), constant(1), layer.spread);
    case Kind::pad_shortcut:
      return PaddedShortcut(layer, x);
    case Kind::reshape:
      return Reshaped(layer, x, mode.channels_last);
    case Kind::upsample:
      return Upsampled(layer, x);
    case Kind::conv_transpose:
      return at::conv_transpose2d(x, leaf(node.weight), leaf(node.bias), layer.stride, layer.padding,
                                  layer.output_padding, layer.groups);
    case Kind::affine:
      return x * BroadcastPerChannel(layer.scale, x) + BroadcastPerChannel(layer.shift, x);
  }
  CheckFailed("a known layer", __FILE__, __LINE__, layer.name);
}

}  // namespace retort::worker
