// Networks that a sweep file describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/network_layers.h"
#include "worker/models/layer.h"

namespace retort::worker {

// Returns the layer that a network of so many classes has for one of its description.
[[nodiscard]] Layer MakeLayer(const NetworkLayer& described, std::int64_t classes);

// Returns the layers of a text of FormatNetworkLayers (experiments/methods/network_layers.h). Error: damage for another
// text; usage, naming the layer and both shapes, where they do not fit these images, and for the text of a generator.
[[nodiscard]] Result<std::vector<Layer>> MakeDescribedLayers(const std::string& text, ImageShape input,
                                                             std::int64_t classes);

}  // namespace retort::worker
