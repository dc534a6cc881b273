// Collectives around another: one that remembers whether the gang still holds, and one that copies tensors of the CPU
// to its device and back.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "worker/gang/collective.h"
#include "worker/tensors/step_graphs.h"

namespace retort::worker {

// Remembers whether the gang still holds, and is known to the regions whose steps it is a part of.
class WatchedCollective final : public Collective, public GraphPeers {
 public:
  explicit WatchedCollective(std::unique_ptr<Collective> gang) : gang_(std::move(gang)) {}

  // Returns the first error of any operation; ok while there was none.
  [[nodiscard]] const Status& status() const { return status_; }

  [[nodiscard]] GangRank rank() const override { return gang_->rank(); }
  [[nodiscard]] int size() const override { return gang_->size(); }
  [[nodiscard]] Status AllReduceSum(at::Tensor& values) override;
  [[nodiscard]] Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor& values) override;
  void Expect(const at::Tensor& values) override;
  [[nodiscard]] Status Broadcast(at::Tensor& values, GangRank root) override;
  [[nodiscard]] Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) override;
  [[nodiscard]] Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override;
  [[nodiscard]] Status Barrier() override;
  [[nodiscard]] bool CanBeRecorded() const override { return gang_->CanBeRecorded(); }
  [[nodiscard]] Status AwaitReplay() override;
  [[nodiscard]] std::int64_t operations() const override { return operations_; }
  [[nodiscard]] Result<bool> AllHave(bool own) override;

 private:
  friend class WatchedOperation;
  Status Note(Status status);
  Collective& Counted();
  std::unique_ptr<Collective> gang_;
  Status status_;
  std::int64_t operations_ = 0;
};

// Returns `gang` with every tensor that is not on `device` copied there before an operation and back after it;
// results lie where the caller's tensor does. Meant for the few small tensors that live on the CPU: counts,
// indices, losses.
[[nodiscard]] std::unique_ptr<Collective> StageOn(at::Device device, std::unique_ptr<Collective> gang);

}  // namespace retort::worker
