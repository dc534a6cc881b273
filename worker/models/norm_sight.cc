#include "worker/models/norm_sight.h"

#include <cstddef>

namespace retort::worker {

std::vector<NormSight> NormsSeen(Network& network, const LayerTrace& trace) {
  std::vector<NormSight> seen;
  for (const LayerNode& node : network.plan().nodes) {
    if (node.norm < 0 || !node.runs) continue;
    const auto norm = static_cast<std::size_t>(node.norm);
    seen.push_back({trace.inputs[static_cast<std::size_t>(node.traced)], network.buffers().mean(norm),
                    network.buffers().variance(norm)});
  }
  return seen;
}

}  // namespace retort::worker
