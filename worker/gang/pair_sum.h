// The sum of a gang of two over Gloo: both members send all that they have at once and add what they hear. A
// ring moves as many bytes, in two rounds that wait for each other and for threads of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <deque>
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

  // As Collective::Expect: the other member may send its part as soon as it has it. Nothing can be sent
  // before its receiver is ready.
  void Expect(const at::Tensor& values);
  // As Collective::BeginAllReduceSum. `values` is contiguous. Each member hears from the other within the
  // deadline, or Wait ends with an error that begins with `what`.
  [[nodiscard]] Result<std::unique_ptr<PendingOperation>> Begin(at::Tensor& values, const std::string& what);

 private:
  // One exchange: where the other's part goes.
  struct Hearing {
    const void* of = nullptr;  // the values that it will be added to
    at::Tensor heard;
    c10::intrusive_ptr<c10d::Work> receiving;
    int tag = 0;
  };
  class Pending;
  [[nodiscard]] Hearing Listen(const at::Tensor& values);
  [[nodiscard]] Hearing TakeExpected(const at::Tensor& values);
  [[nodiscard]] int other() const { return 1 - group_->getRank(); }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::chrono::milliseconds deadline_;
  std::uint32_t listened_ = 0;  // exchanges so far, the same on both members: their tags
  std::deque<Hearing> expected_;
};

}  // namespace retort::worker
