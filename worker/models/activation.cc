#include "worker/models/activation.h"

#include "experiments/spec/status.h"

namespace retort::worker {

bool IsActivation(LayerKind kind) {
  switch (kind) {
    case LayerKind::relu:
    case LayerKind::relu6:
    case LayerKind::leaky:
    case LayerKind::gelu:
    case LayerKind::tanh:
      return true;
    default:
      return false;
  }
}

std::vector<Layer> WithActivation(std::vector<Layer> layers, LayerKind kind) {
  RETORT_CHECK(IsActivation(kind) && kind != LayerKind::leaky);
  for (Layer& layer : layers) {
    if (!IsActivation(layer.kind)) continue;
    layer.kind = kind;
    layer.rate = 0;
  }
  return layers;
}

}  // namespace retort::worker
