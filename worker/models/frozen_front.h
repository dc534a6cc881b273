// Networks that train a last linear layer alone.
#pragma once

#include <cstddef>
#include <optional>

#include "worker/models/network.h"

namespace retort::worker {

// The layer whose result a network's only parameters see: the weights of a last linear layer without a bias. Nothing
// where a network has others.
[[nodiscard]] std::optional<std::size_t> FrozenFront(const Network& network);

}  // namespace retort::worker
