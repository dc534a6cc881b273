// What follows from a list of layers and the shape of the images: shapes, parameters, state, what may be overwritten,
// and where hints are taken and given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"
#include "worker/models/arenas.h"
#include "worker/models/layer.h"

namespace retort::worker {

// One tensor of a network's state.
struct StateEntry {
  std::string name;                      // torchvision's, e.g. "layer1.0.bn1.running_mean"
  std::vector<std::int64_t> shape = {};  // empty: a scalar
  bool buffer = false;                   // not a parameter
  bool constant = false;                 // of buffers: fitted once, no step changes it
  storage::DType dtype = storage::DType::f32;
  bool used = true;       // false: of a layer that never runs, as GoogLeNet's auxiliary heads
  std::size_t index = 0;  // of the parameter, of the batch norm, or of the constant
};

// A layer in its place.
struct LayerNode {
  std::vector<std::int32_t> inputs;
  std::vector<std::int64_t> shape;      // of one row of the result
  std::int32_t weight = -1, bias = -1;  // parameters, -1: none
  std::int32_t norm = -1;               // which batch norm
  std::int32_t constant = -1;           // its first constant; the others follow
  std::uint64_t dropout = 0;            // which dropout
  std::int32_t traced = -1;             // place in a LayerTrace
  bool runs = true;                     // the last layer needs it
  bool in_place = false;                // may overwrite its first input
  std::vector<std::int32_t> done;       // layers whose results no layer after this one needs
};

struct LayerPlan {
  std::vector<LayerNode> nodes;
  std::vector<ParameterShape> parameters;
  std::vector<std::int64_t> norm_channels;           // of each batch norm
  std::vector<std::vector<std::int64_t>> constants;  // shapes
  std::vector<StateEntry> state;
  std::size_t traced = 0;     // layers with parameters
  bool channels_last = true;  // the layout of images in which its kernels are fastest, where the device's are
};

// Error: usage, naming the layer that would be left without a pixel. A list that does not fit together
// otherwise is a broken invariant.
[[nodiscard]] Result<LayerPlan> PlanLayers(const std::vector<Layer>& layers, ImageShape input);
// The same of layers that begin with rows of `values` values (as an input kImages), as generators do.
[[nodiscard]] Result<LayerPlan> PlanLatentLayers(const std::vector<Layer>& layers, std::int64_t values);

// A layer in the middle of a network, with everything behind it computed from its result alone: where a teacher gives a
// hint and where a student is guided by it (Romero et al. 2015; RONA, AAAI-19, Eq. 3).
struct MiddleLayer {
  std::size_t place = 0;                             // in the list of layers
  std::int64_t channels = 0, height = 0, width = 0;  // of one row of its result
};

// Finds the first max-pool; in a network without one, the first such layer that has fewer pixels than the images. Of
// Conv-Large on 32 x 32 pixels: 128 x 16 x 16. `plan` is that of `layers`. Error: usage, saying that there is none.
[[nodiscard]] Result<MiddleLayer> FindHintLayer(const std::vector<Layer>& layers, const LayerPlan& plan,
                                                ImageShape input);

// Finds the last such layer whose height and width are the hint's. Of Conv-Small on 32 x 32 pixels conv2c, activated:
// 64 x 16 x 16. Error: usage, saying that there is none.
[[nodiscard]] Result<MiddleLayer> FindGuidedLayer(const LayerPlan& plan, const MiddleLayer& hint);

}  // namespace retort::worker
