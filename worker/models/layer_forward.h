// What one layer computes.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "worker/gang/collective.h"
#include "worker/models/arenas.h"
#include "worker/models/layer.h"
#include "worker/models/layer_plan.h"
#include "worker/models/training_scopes.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

// How a forward pass goes. The pointers outlive the call.
struct ForwardMode {
  const DropoutMasks* dropout = nullptr;  // null: no dropout
  bool training = false;                  // batch norms use the batch and move their running statistics
  bool in_place = true;                   // layers may overwrite what LayerNode::in_place says
  bool channels_last = false;             // of the planes that a reshape makes
  Collective* gang = nullptr;  // whose members' rows a batch norm without running statistics takes together; null: none
};

// Batch norm by the statistics of the rows at hand, of all members of a gang (null: of this process alone). `x` [rows,
// channels] or [rows, channels, height, width]; without a weight and a bias where these are undefined. With a gang of
// several members see gang_batch_norm.h for what is thrown.
[[nodiscard]] at::Tensor NormaliseByBatch(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                          double epsilon, Collective* gang);

// Computes the layer from `inputs`, in the order of node.inputs. `leaves`: the network's parameters. With a gang of
// several members it throws as NormaliseByBatch.
[[nodiscard]] at::Tensor ForwardLayer(const Layer& layer, const LayerNode& node, const std::vector<at::Tensor>& inputs,
                                      const std::vector<at::Tensor>& leaves, const BufferArena& buffers,
                                      const ForwardMode& mode);

}  // namespace retort::worker
