// Networks that a sweep file describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "worker/models/layer.h"

namespace retort::worker {

// Returns the layers of a text of FormatNetworkLayers (experiments/methods/network_layers.h). Error: damage for another
// text; usage, naming the layer and both shapes, where they do not fit these images.
[[nodiscard]] Result<std::vector<Layer>> MakeDescribedLayers(const std::string& text, ImageShape input,
                                                             std::int64_t classes);

}  // namespace retort::worker
