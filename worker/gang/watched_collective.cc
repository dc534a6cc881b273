#include "worker/gang/watched_collective.h"

#include <utility>

namespace retort::worker {

class WatchedOperation final : public PendingOperation {
 public:
  WatchedOperation(WatchedCollective& owner, std::unique_ptr<PendingOperation> operation)
      : owner_(owner), operation_(std::move(operation)) {}
  Status Wait() override { return owner_.Note(operation_->Wait()); }

 private:
  WatchedCollective& owner_;
  std::unique_ptr<PendingOperation> operation_;
};

Status WatchedCollective::Note(Status status) {
  if (status_.ok()) status_ = status;
  return status;
}

Status WatchedCollective::AllReduceSum(at::Tensor& values) { return Note(gang_->AllReduceSum(values)); }

Result<std::unique_ptr<PendingOperation>> WatchedCollective::BeginAllReduceSum(at::Tensor& values) {
  Result<std::unique_ptr<PendingOperation>> begun = gang_->BeginAllReduceSum(values);
  if (!begun.ok()) return Note(begun.status());
  return std::unique_ptr<PendingOperation>(std::make_unique<WatchedOperation>(*this, std::move(*begun)));
}

void WatchedCollective::Expect(const at::Tensor& values) { gang_->Expect(values); }

Status WatchedCollective::Broadcast(at::Tensor& values, GangRank root) {
  return Note(gang_->Broadcast(values, root));
}

Result<std::vector<at::Tensor>> WatchedCollective::Gather(const at::Tensor& values, GangRank root) {
  Result<std::vector<at::Tensor>> gathered = gang_->Gather(values, root);
  if (!gathered.ok()) return Note(gathered.status());
  return gathered;
}

Result<std::vector<at::Tensor>> WatchedCollective::AllGather(const at::Tensor& values) {
  Result<std::vector<at::Tensor>> gathered = gang_->AllGather(values);
  if (!gathered.ok()) return Note(gathered.status());
  return gathered;
}

Status WatchedCollective::Barrier() { return Note(gang_->Barrier()); }

}  // namespace retort::worker
