// Generators that a sweep file describes: the layers of a [network.NAME] with a reshape.
#pragma once

#include <cstdint>
#include <memory>

#include "experiments/base/status.h"
#include "worker/models/generators.h"

namespace retort::worker {

// Pixels that end in a sigmoid lie between 0 and 1, and those of a tanh, between -1 and 1, are brought there; then they
// are normalised by settings.scale. Pixels that end in a batch norm stay as they are. Batch norms use the statistics of
// the batch at hand, so that a batch is a function of its latents and the parameters alone. REQUIRES: settings.layers.
// Error: damage, where they are no text of FormatNetworkLayers; usage, naming the layer and both shapes, where they do
// not make such images of settings.latent values, or make none.
[[nodiscard]] Result<std::unique_ptr<Generator>> MakeDescribedGenerator(ImageShape image,
                                                                        const GeneratorSettings& settings,
                                                                        const RngStream& stream, at::Device device);

// The same of settings.code values and, behind them, one a class: pixels between 0 and 1, which stay so. Error: usage,
// too, for layers that end in a batch norm.
[[nodiscard]] Result<std::unique_ptr<ConditionalGenerator>> MakeDescribedConditionalGenerator(
    ImageShape image, std::int64_t classes, const ConditionalGeneratorSettings& settings, const RngStream& stream,
    at::Device device);

}  // namespace retort::worker
