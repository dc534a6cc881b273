// Steps recorded as CUDA graphs.
#pragma once

#include <memory>

#include "worker/tensors/step_graphs.h"

namespace retort::worker {

// Of CUDA device `device`. All graphs of a trial share a pool of memory, since what one of them makes does not outlast
// it.
[[nodiscard]] std::unique_ptr<GraphDevice> OpenGraphDevice(int device);

}  // namespace retort::worker
