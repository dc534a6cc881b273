// The sum of a gang of two over Gloo: both members send all that they have at once and add what they hear. A
// ring moves as many bytes, in two rounds that wait for each other and for threads of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "experiments/spec/status.h"
#include "worker/gang/collective.h"

namespace retort::worker {

class PairSum {
 public:
  // `group` has two members.
  PairSum(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, std::chrono::milliseconds deadline);

  // As Collective::BeginAllReduceSum. `values` is contiguous. Each member hears from the other within the
  // deadline, or Wait ends with an error that begins with `what`.
  [[nodiscard]] Result<std::unique_ptr<PendingOperation>> Begin(at::Tensor& values, const std::string& what);

 private:
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::chrono::milliseconds deadline_;
  std::uint32_t begun_ = 0;  // exchanges, the same on both members: their tags
};

}  // namespace retort::worker
