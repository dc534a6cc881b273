// The frozen layers (worker/models/features) as operators of ONNX. Images are f32 [rows, channels, height, width]; all
// results are f32 [rows, values].
#pragma once

#include <string>

#include "worker/models/features/orientations.h"
#include "worker/models/layer.h"
#include "worker/models/onnx/graph_builder.h"

namespace retort::worker::onnx {

// ComputeOrientationFeatures.
[[nodiscard]] std::string AddOrientations(GraphBuilder& graph, const std::string& images, ImageShape shape,
                                          const OrientationForm& form);

// ComputePatchFeatures with filters of `extent` pixels a side.
struct PatchForm {
  std::string filters, offset;  // values of the graph
  std::int64_t count = 0, extent = 0;
  double threshold = 0;
};
[[nodiscard]] std::string AddPatches(GraphBuilder& graph, const std::string& images, ImageShape shape,
                                     const PatchForm& form);

// ComputeScatteringFeatures. Transforms are products with matrices, since few programs that read ONNX have fast ones.
[[nodiscard]] std::string AddScattering(GraphBuilder& graph, const std::string& images, ImageShape shape,
                                        std::int64_t orientations);

// Whitened; `mean` and `components` are values of the graph.
[[nodiscard]] std::string AddWhitening(GraphBuilder& graph, const std::string& rows, const std::string& mean,
                                       const std::string& components, double constant);

// PoolTo, of planes f32 [rows, channels, height, width].
[[nodiscard]] std::string AddPoolTo(GraphBuilder& graph, const std::string& planes, ImageShape shape,
                                    std::int64_t height, std::int64_t width);

}  // namespace retort::worker::onnx
