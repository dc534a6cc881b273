// Where a teacher gives a hint and where a student is guided by it (Romero et al. 2015; RONA, AAAI-19, Eq. 3).
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/models/layer.h"
#include "worker/models/layer_plan.h"

namespace retort::worker {

// A layer in the middle of a network, with everything behind it computed from its result alone.
struct MiddleLayer {
  std::size_t place = 0;                                // in the list of layers
  std::int64_t channels = 0, height = 0, width = 0;     // of one row of its result
};

// The first max-pool; in a network without one, the first such layer that has fewer pixels than the images. Of
// Conv-Large on 32 x 32 pixels: 128 x 16 x 16. `plan` is that of `layers`. Error: usage, saying that there is none.
[[nodiscard]] Result<MiddleLayer> HintLayer(const std::vector<Layer>& layers, const LayerPlan& plan, ImageShape input);

// The last such layer whose height and width are the hint's. Of Conv-Small on 32 x 32 pixels conv2c, activated:
// 64 x 16 x 16. Error: usage, saying that there is none.
[[nodiscard]] Result<MiddleLayer> GuidedLayer(const LayerPlan& plan, const MiddleLayer& hint);

}  // namespace retort::worker
