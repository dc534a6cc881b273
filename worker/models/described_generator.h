// Generators that a sweep file describes: the layers of a [network.NAME] with a reshape.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/network_layers.h"
#include "worker/models/generators.h"
#include "worker/models/layer.h"
#include "worker/models/layer_plan.h"

namespace retort::worker {

// The layers of a described generator, without their parameters.
struct LatentLayers {
  std::vector<Layer> layers;
  LayerPlan plan;  // for rows of latents
};

// Reads what FormatNetworkLayers wrote. Error: damage, where it is no such text; usage, naming the layer and both
// shapes, where the layers do not make such images of such latents, or make none.
[[nodiscard]] Result<LatentLayers> ReadLatentLayers(const std::string& text, LatentShape latents, ImageShape image);

// Pixels that end in a sigmoid lie between 0 and 1, and those of a tanh, between -1 and 1, are brought there; then they
// are normalised by settings.scale. Pixels that end in a batch norm stay as they are. Batch norms use the statistics of
// the batch at hand, so that a batch is a function of its latents and the parameters alone. REQUIRES: settings.layers.
// Error: that of ReadLatentLayers.
[[nodiscard]] Result<std::unique_ptr<Generator>> MakeDescribedGenerator(ImageShape image,
                                                                        const GeneratorSettings& settings,
                                                                        const RngStream& stream, at::Device device);

// The same of settings.code values and, behind them, one a class: pixels between 0 and 1, which stay so. Error: usage,
// too, for layers that end in a batch norm.
[[nodiscard]] Result<std::unique_ptr<ConditionalGenerator>> MakeDescribedConditionalGenerator(
    ImageShape image, std::int64_t classes, const ConditionalGeneratorSettings& settings, const RngStream& stream,
    at::Device device);

}  // namespace retort::worker
