// A network as a graph of ONNX, without its state.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "worker/models/layer.h"
#include "worker/models/layer_plan.h"
#include "worker/models/onnx/graph_builder.h"

namespace retort::worker::onnx {

inline constexpr const char* kImageInput = "image";  // f32 [rows, channels, height, width], normalised as in training
inline constexpr const char* kLogits = "logits";     // f32 [rows, classes]

// Returns what Network::Forward computes in evaluation: every kind of layer can be written. Names in `state` are those
// of the network's state; layers that never run are left out. Error: usage, where the images leave a layer no pixel.
[[nodiscard]] Result<StatelessGraph> MakeNetworkGraph(const std::vector<Layer>& layers, ImageShape images);

// Adds all layers behind `start`, of `start_shape` without the rows, and returns the last one's result. REQUIRES: the
// plan of these layers for such a start.
[[nodiscard]] std::string AddLayers(GraphBuilder& graph, const std::vector<Layer>& layers, const LayerPlan& plan,
                                    const std::string& start, const Shape& start_shape);

}  // namespace retort::worker::onnx
