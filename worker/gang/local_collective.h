// Collective without processes: a gang of one, and gangs of threads.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "worker/gang/collective.h"

namespace retort::worker {

// size 1: every operation is the identity.
[[nodiscard]] std::unique_ptr<Collective> MakeSoloCollective();

// `size` members sharing memory, one for each thread. Destroying a member is its loss: the others'
// pending and later operations fail at once. Sums go in rank order.
[[nodiscard]] std::vector<std::unique_ptr<Collective>> MakeLocalGang(int size, std::chrono::milliseconds deadline);

}  // namespace retort::worker
