// A collective that remembers whether the gang still holds.
#pragma once

#include <memory>

#include "worker/gang/collective.h"

namespace retort::worker {

class WatchedCollective final : public Collective {
 public:
  explicit WatchedCollective(std::unique_ptr<Collective> gang) : gang_(std::move(gang)) {}

  // The first error of any operation; ok while there was none.
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

 private:
  friend class WatchedOperation;
  Status Note(Status status);
  std::unique_ptr<Collective> gang_;
  Status status_;
};

}  // namespace retort::worker
