#include "worker/models/hint_layers.h"

#include <algorithm>
#include <optional>
#include <string>

namespace retort::worker {
namespace {

// Layers, in order, whose result is a picture and the only thing that the layers behind them read.
std::vector<MiddleLayer> MiddleLayers(const LayerPlan& plan) {
  std::vector<MiddleLayer> found;
  std::int32_t earliest = static_cast<std::int32_t>(plan.nodes.size());  // input of any layer behind
  for (std::size_t i = plan.nodes.size(); i-- > 0;) {
    const LayerNode& node = plan.nodes[i];
    if (!node.runs) continue;
    const bool behind = i + 1 < plan.nodes.size();
    if (behind && earliest >= static_cast<std::int32_t>(i) && node.shape.size() == 3)
      found.push_back({i, node.shape[0], node.shape[1], node.shape[2]});
    for (const std::int32_t at : node.inputs) earliest = std::min(earliest, at);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::string Extent(std::int64_t height, std::int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

}  // namespace

Result<MiddleLayer> HintLayer(const std::vector<Layer>& layers, const LayerPlan& plan, ImageShape input) {
  std::optional<MiddleLayer> smaller;
  for (const MiddleLayer& layer : MiddleLayers(plan)) {
    if (layers[layer.place].kind == LayerKind::max_pool) return layer;
    if (!smaller && (layer.height < input.height || layer.width < input.width)) smaller = layer;
  }
  if (smaller) return *smaller;
  return UsageError("it has no layer to take a hint from: none is a max-pool or has fewer pixels than the images");
}

Result<MiddleLayer> GuidedLayer(const LayerPlan& plan, const MiddleLayer& hint) {
  const std::vector<MiddleLayer> found = MiddleLayers(plan);
  const auto last = std::find_if(found.rbegin(), found.rend(), [&hint](const MiddleLayer& layer) {
    return layer.height == hint.height && layer.width == hint.width;
  });
  if (last != found.rend()) return *last;
  return UsageError("it has no layer of " + Extent(hint.height, hint.width) +
                    " pixels, as the teacher's hint has, for the hint to guide");
}

}  // namespace retort::worker
