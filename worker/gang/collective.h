// What the workers of one gang do together. Implementations: alone or threads of one process (tests),
// Gloo between processes, NCCL between GPUs.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"

namespace retort::worker {

// Every member calls the same operations in the same order with equal shapes and types. Each call
// ends inside the deadline that the collective was made with; a lost or silent peer is an error
// (environment), after which the collective is of no use. Tensors are contiguous, f32, f64, i32, i64 or u8,
// on the gang's device. Not thread-safe.
class PendingOperation {
 public:
  virtual ~PendingOperation() = default;  // waits
  // Once. The error that the operation itself would have had.
  [[nodiscard]] virtual Status Wait() = 0;
};

class Collective {
 public:
  virtual ~Collective() = default;
  [[nodiscard]] virtual GangRank rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  // In place; every member ends with the same bits. i32 wraps, as two's complement.
  [[nodiscard]] virtual Status AllReduceSum(at::Tensor& values) = 0;
  // The same, under way while the caller computes; `values` must not be used until Wait. Several may be under way,
  // and other operations begin behind them; every member begins all of them in the same order.
  [[nodiscard]] virtual Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor& values);
  // `values` will be summed by BeginAllReduceSum, before any other tensor lies where it does: what other members
  // have of it may come in from now on. A hint, given by all members in the same order; free to do nothing.
  virtual void Expect(const at::Tensor& values) = 0;
  // In place: the root's values everywhere.
  [[nodiscard]] virtual Status Broadcast(at::Tensor& values, GangRank root) = 0;
  // On the root one tensor of each rank, in rank order; elsewhere empty.
  [[nodiscard]] virtual Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) = 0;
  // On every member one tensor of each rank, in rank order.
  [[nodiscard]] virtual Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) = 0;
  [[nodiscard]] virtual Status Barrier() = 0;
  // Whether a GraphRegion may record operations on tensors of the gang's device. They are then repeated by replays,
  // which end inside the deadline as seen by AwaitReplay alone.
  [[nodiscard]] virtual bool CanBeRecorded() const { return false; }
  // Returns when the device has done what it was given so far, or the deadline's error.
  [[nodiscard]] virtual Status AwaitReplay() { return {}; }
};

}  // namespace retort::worker
