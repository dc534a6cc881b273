#include "worker/models/network.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "worker/models/arenas.h"
#include "worker/models/layer.h"
#include "worker/models/layer_forward.h"
#include "worker/models/layer_plan.h"
#include "worker/models/training_scopes.h"
#include "worker/tensors/rng_streams.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

const storage::TensorBlob* Find(const std::vector<storage::TensorBlob>& blobs, const std::string& name) {
  const auto found = std::find_if(blobs.begin(), blobs.end(), [&](const auto& b) { return b.name == name; });
  return found == blobs.end() ? nullptr : &*found;
}

// Which of the three buffers of a batch norm.
bool EndsWith(const StateEntry& entry, std::string_view name) { return entry.name.ends_with(name); }

// Returns the same images, each pixel's channels side by side in memory. For one channel both layouts are the same
// bytes, and only the strides say which one is meant.
at::Tensor ChannelsLast(const at::Tensor& images) {
  if (images.size(1) != 1) return images.contiguous(at::MemoryFormat::ChannelsLast);
  return images.reshape({-1, images.size(2), images.size(3), 1}).permute({0, 3, 1, 2});
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
  const ForwardMode mode{.dropout = dropout ? &*dropout : nullptr, .training = training, .in_place = trace == nullptr};
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
  for (const StateEntry& entry : state()) blobs.push_back(MakeTensorBlob(prefix + entry.name, EntryTensor(entry)));
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
    RETORT_ASSIGN_OR_RETURN(at::Tensor value, MakeTensorFromBlob(*blob));
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
