// A list of layers as text, for programs in other languages that build the same network.
#pragma once

#include <string>
#include <vector>

#include "worker/models/layer.h"

namespace retort::worker {

// Returns the word by which files call the kind: "max_pool".
[[nodiscard]] std::string GetKindName(LayerKind kind);

// Returns a JSON array with an object for each layer: `kind`, `name` where it has one, and of the other fields of
// Layer, under their names, those that decide what it computes and differ from their defaults.
[[nodiscard]] std::string FormatLayers(const std::vector<Layer>& layers);

}  // namespace retort::worker
