// What the batch norms of a network are given in one pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "worker/models/network.h"

namespace retort::worker {

struct NormSight {
  at::Tensor reaching;        // f32 [rows, channels, ...]: what it is given, part of the pass' graph
  at::Tensor mean, variance;  // f32 [channels]: its running statistics
};

// Of a forward pass that filled `trace`, in layer order: those that ran.
[[nodiscard]] std::vector<NormSight> NormsSeen(Network& network, const LayerTrace& trace);

}  // namespace retort::worker
