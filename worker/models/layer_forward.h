// One layer's arithmetic.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "worker/models/buffer_arena.h"
#include "worker/models/layer.h"
#include "worker/models/layer_plan.h"
#include "worker/rng_streams.h"

namespace retort::worker {

// How a forward pass goes: `dropout` null: no dropout; `training`: batch norms use the batch and move their
// running statistics; `in_place`: layers may overwrite what LayerNode::in_place says.
struct ForwardMode {
  const RowStream* dropout = nullptr;
  bool training = false;
  bool in_place = true;
};

// What the layer makes of `inputs`, in the order of node.inputs. `leaves`: the network's parameters.
[[nodiscard]] at::Tensor ForwardLayer(const Layer& layer, const LayerNode& node,
                                      const std::vector<at::Tensor>& inputs,
                                      const std::vector<at::Tensor>& leaves, const BufferArena& buffers,
                                      const ForwardMode& mode);

// The same images, each pixel's channels side by side in memory.
[[nodiscard]] at::Tensor ChannelsLast(const at::Tensor& images);

}  // namespace retort::worker
