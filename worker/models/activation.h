// Networks with another activation: the tempered sigmoids of the DP-SGD literature (Papernot et al. 2021).
#pragma once

#include <vector>

#include "worker/models/layer.h"

namespace retort::worker {

// Does a layer of this kind bend each value by itself: relu, relu6, leaky, gelu, tanh?
[[nodiscard]] bool IsActivation(LayerKind kind);

// The same layers with `kind` (an activation without a rate) in place of every activation. Parameters, names and
// shapes stay. Where a layer list has a dropout before its rectifier, the activation sees what dropout scaled.
[[nodiscard]] std::vector<Layer> WithActivation(std::vector<Layer> layers, LayerKind kind);

}  // namespace retort::worker
