// Collective over NCCL, one device for each member.
#pragma once

#include <memory>

#include "worker/gang/collective.h"
#include "worker/gang/gloo_collective.h"

namespace retort::worker {

// Tensors of the operations live on `device`. Each operation blocks the caller until it is done on the
// device or its deadline passed, but for those that a graph records; NCCL does not report a dead peer of the same
// host, the deadline does.
[[nodiscard]] Result<std::unique_ptr<Collective>> JoinNcclGang(const GangMembership& membership, int device);

}  // namespace retort::worker
