// A network as a graph of ONNX, without its state.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "worker/models/layer.h"
#include "worker/models/onnx/graph_builder.h"

namespace retort::worker::onnx {

inline constexpr const char* kImageInput = "image";  // f32 [rows, channels, height, width], normalised as in training
inline constexpr const char* kLogits = "logits";     // f32 [rows, classes]

// Returns what Network::Forward computes in evaluation: every kind of layer can be written. Names in `state` are those
// of the network's state; layers that never run are left out. Error: usage, where the images leave a layer no pixel.
[[nodiscard]] Result<StatelessGraph> MakeNetworkGraph(const std::vector<Layer>& layers, ImageShape images);

}  // namespace retort::worker::onnx
