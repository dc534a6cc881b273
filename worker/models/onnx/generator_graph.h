// Generators as graphs of ONNX, without their state. Their batch norms use the statistics of the batch at hand, here as
// in the program: an image depends on those beside it.
#pragma once

#include <cstdint>

#include "worker/models/generators.h"
#include "worker/models/onnx/graph_builder.h"

namespace retort::worker::onnx {

inline constexpr const char* kLatentInput = "latent";  // f32 [rows, values], standard normal
inline constexpr const char* kLabelInput = "label";    // i64 [rows]: the class that each image is made of
inline constexpr const char* kPictures = "pictures";   // f32 [rows, channels, height, width]

// Returns what Generator::Forward computes. REQUIRES: images that Generator::Create takes. Error: that of
// ReadLatentLayers, where settings.layers are there.
[[nodiscard]] Result<StatelessGraph> MakeGeneratorGraph(ImageShape image, const GeneratorSettings& settings);

// Returns what ConditionalGenerator::Forward computes, with the same requirement and error.
[[nodiscard]] Result<StatelessGraph> MakeGeneratorGraph(ImageShape image, std::int64_t classes,
                                                        const ConditionalGeneratorSettings& settings);

}  // namespace retort::worker::onnx
