// Classifiers as a graph of layers. One forward pass serves training, evaluation and per-sample gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"
#include "worker/models/arenas.h"
#include "worker/models/layer.h"
#include "worker/models/layer_plan.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

// What the layers with parameters saw, in layer order: enough for per-sample gradients, and for the
// statistics of what reaches a batch norm. Undefined for layers that the answer does not need.
struct LayerTrace {
  std::vector<at::Tensor> inputs;   // [batch, in, ...]
  std::vector<at::Tensor> outputs;  // before the activation, part of the graph
};

struct NetworkOutput {
  at::Tensor logits;    // [batch, classes]
  at::Tensor features;  // [batch, d]: what the last linear layer saw
};

class Network {
 public:
  // Initial parameters are drawn from `stream`, the same on every device; nothing: zeros, until LoadState.
  // Layers that the last one does not need are in the state and never run.
  Network(std::vector<Layer> layers, ImageShape input, const std::optional<RngStream>& stream,
          at::Device device = at::kCPU);

  // images: f32 [batch, channels, height, width], any dense layout. Batch norms use their running statistics.
  // `dropout`: the stream of this forward pass, and which rows of the whole batch these are; nothing =
  // evaluation. `trace`, when not null, is filled.
  [[nodiscard]] NetworkOutput Forward(const at::Tensor& images,
                                      const std::optional<DropoutMasks>& dropout = std::nullopt,
                                      LayerTrace* trace = nullptr) const;
  // The same for training: batch norms use the statistics of `images`, and their running ones move towards
  // them. A batch norm that sees one value a channel has no variance to go by and uses its running ones.
  [[nodiscard]] NetworkOutput Train(const at::Tensor& images, const std::optional<DropoutMasks>& dropout);
  // Returns what layer `last` (a place in layers(), which runs) makes of the images, as Forward without dropout and as
  // Train; no layer behind it runs, or counts a batch.
  [[nodiscard]] at::Tensor ForwardTo(std::size_t last, const at::Tensor& images) const;
  [[nodiscard]] at::Tensor TrainTo(std::size_t last, const at::Tensor& images,
                                   const std::optional<DropoutMasks>& dropout);

  [[nodiscard]] ParameterArena& parameters() { return *parameters_; }
  [[nodiscard]] const ParameterArena& parameters() const { return *parameters_; }
  // Empty without batch norms.
  [[nodiscard]] BufferArena& buffers() { return *buffers_; }
  // One batch more for every batch norm that runs. Train counts; a member of a gang without rows does it here.
  void CountBatch() { CountBatchTo(layers_.size() - 1); }
  // The same for those up to layer `last`.
  void CountBatchTo(std::size_t last);
  // Initial parameters once more, from another stream, and initial statistics.
  void Redraw(const RngStream& stream);

  // Parameters and buffers, torchvision's names in torchvision's order.
  [[nodiscard]] const std::vector<StateEntry>& state() const { return plan_.state; }
  // Returns the tensor of an entry of state(): what the network computes with, no copy.
  [[nodiscard]] at::Tensor EntryTensor(const StateEntry& entry) const;
  // Names are prefix + the entry's.
  [[nodiscard]] std::vector<storage::TensorBlob> StateBlobs(const std::string& prefix) const;
  // Blobs beyond the state are ignored. A missing num_batches_tracked counts as 0, and a missing entry of a
  // layer that never runs stays as it is. Error: damage, naming the entry that is missing or of another shape
  // or type; nothing is changed then.
  [[nodiscard]] Status LoadState(const std::string& prefix, const std::vector<storage::TensorBlob>& blobs);

  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] const LayerPlan& plan() const { return plan_; }
  // Whether any layer lets one row of a training batch change the answer to another.
  [[nodiscard]] bool MixesRows() const;
  [[nodiscard]] ImageShape input() const { return input_; }
  [[nodiscard]] std::int64_t classes() const { return plan_.nodes.back().shape.front(); }

 private:
  // `features`, when not null, receives what the last linear layer saw.
  [[nodiscard]] at::Tensor Run(std::size_t last, const at::Tensor& images, const std::optional<DropoutMasks>& dropout,
                               bool training, LayerTrace* trace, at::Tensor* features) const;
  std::vector<Layer> layers_;
  ImageShape input_;
  LayerPlan plan_;
  std::unique_ptr<ParameterArena> parameters_;
  std::unique_ptr<BufferArena> buffers_;
};

// Finds the last frozen layer of a network that trains nothing but a last linear layer without a bias: the layer whose
// result those weights see. Nothing where a network has other parameters.
[[nodiscard]] std::optional<std::size_t> FindFrozenFront(const Network& network);

// What one batch norm of a network is given in one pass.
struct BatchNormInput {
  at::Tensor reaching;        // f32 [rows, channels, ...]: its input, part of the graph of the pass
  at::Tensor mean, variance;  // f32 [channels]: its running statistics
};

// Collects the inputs of the batch norms that ran in a forward pass that filled `trace`, in layer order.
[[nodiscard]] std::vector<BatchNormInput> CollectBatchNormInputs(Network& network, const LayerTrace& trace);

}  // namespace retort::worker
