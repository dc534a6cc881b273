// A training pass that may come to nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/models/network.h"

namespace retort::worker {

// Puts the running statistics of a network's batch norms back to what they were, unless the step that moved them is
// kept. The network outlives the guard.
class StatisticsGuard {
 public:
  explicit StatisticsGuard(Network& network) : network_(network) {
    if (network.buffers().empty()) return;
    flat_ = network.buffers().flat().clone();
    counts_ = network.buffers().counts().clone();
  }
  StatisticsGuard(const StatisticsGuard&) = delete;
  StatisticsGuard& operator=(const StatisticsGuard&) = delete;
  ~StatisticsGuard() {
    if (kept_ || !flat_.defined()) return;
    network_.buffers().flat().copy_(flat_);
    network_.buffers().counts().copy_(counts_);
  }
  void Keep() { kept_ = true; }

 private:
  Network& network_;
  at::Tensor flat_, counts_;
  bool kept_ = false;
};

}  // namespace retort::worker
