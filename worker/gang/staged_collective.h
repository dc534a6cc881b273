// Lets tensors of the CPU take part in a gang that knows those of its devices alone.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "worker/gang/collective.h"

namespace retort::worker {

// `gang` with every tensor that is not on `device` copied there before an operation and back after it;
// results lie where the caller's tensor does. Meant for the few small tensors that live on the CPU: counts,
// indices, losses.
[[nodiscard]] std::unique_ptr<Collective> StageOn(at::Device device, std::unique_ptr<Collective> gang);

}  // namespace retort::worker
