#include "worker/models/frozen_front.h"

namespace retort::worker {

std::optional<std::size_t> FrozenFront(const Network& network) {
  const Layer& last = network.layers().back();
  const LayerNode& node = network.plan().nodes.back();
  if (network.plan().traced != 1 || last.kind != LayerKind::linear || last.bias || node.shape.size() != 1 ||
      node.inputs.front() == kImages)
    return std::nullopt;
  return static_cast<std::size_t>(node.inputs.front());
}

}  // namespace retort::worker
