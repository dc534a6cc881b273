#include "worker/models/layer.h"

#include "experiments/base/status.h"

namespace retort::worker {

bool MixesRows(LayerKind kind) {
  switch (kind) {
    case LayerKind::conv:
    case LayerKind::linear:
    case LayerKind::relu:
    case LayerKind::tanh:
    case LayerKind::max_pool:
    case LayerKind::dropout:
    case LayerKind::flatten:
    case LayerKind::group_norm:
    case LayerKind::layer_norm:
    case LayerKind::relu6:
    case LayerKind::gelu:
    case LayerKind::leaky:
    case LayerKind::attention:
    case LayerKind::class_token:
    case LayerKind::tokens:
    case LayerKind::first_token:
    case LayerKind::avg_pool:
    case LayerKind::adaptive_avg_pool:
    case LayerKind::add:
    case LayerKind::concat:
    case LayerKind::channel_slice:
    case LayerKind::channel_shuffle:
    case LayerKind::affine:
    case LayerKind::spatial_mean:
    case LayerKind::hog:
    case LayerKind::patches:
    case LayerKind::scattering:
    case LayerKind::whiten:
    case LayerKind::pad_shortcut:
    case LayerKind::sigmoid:
    case LayerKind::reshape:
    case LayerKind::upsample:
    case LayerKind::conv_transpose:
      return false;
    case LayerKind::batch_norm:
      return true;
  }
  return true;  // a kind that is not known
}

bool IsActivation(LayerKind kind) {
  switch (kind) {
    case LayerKind::relu:
    case LayerKind::relu6:
    case LayerKind::leaky:
    case LayerKind::gelu:
    case LayerKind::tanh:
    case LayerKind::sigmoid:
      return true;
    default:
      return false;
  }
}

std::vector<Layer> SetActivation(std::vector<Layer> layers, LayerKind kind) {
  RETORT_CHECK(IsActivation(kind) && kind != LayerKind::leaky);
  for (Layer& layer : layers) {
    if (!IsActivation(layer.kind)) continue;
    layer.kind = kind;
    layer.rate = 0;
  }
  return layers;
}

}  // namespace retort::worker
