#include "worker/gang/collective_decorators.h"

#include <ATen/ops/full.h>

#include <cstdint>
#include <utility>
#include <vector>

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

Collective& WatchedCollective::Counted() {
  ++operations_;
  return *gang_;
}

Status WatchedCollective::AllReduceSum(at::Tensor& values) { return Note(Counted().AllReduceSum(values)); }

Result<std::unique_ptr<PendingOperation>> WatchedCollective::BeginAllReduceSum(at::Tensor& values) {
  Result<std::unique_ptr<PendingOperation>> begun = Counted().BeginAllReduceSum(values);
  if (!begun.ok()) return Note(begun.status());
  return std::unique_ptr<PendingOperation>(std::make_unique<WatchedOperation>(*this, std::move(*begun)));
}

void WatchedCollective::Expect(const at::Tensor& values) { gang_->Expect(values); }

Status WatchedCollective::Broadcast(at::Tensor& values, GangRank root) {
  return Note(Counted().Broadcast(values, root));
}

Result<std::vector<at::Tensor>> WatchedCollective::Gather(const at::Tensor& values, GangRank root) {
  Result<std::vector<at::Tensor>> gathered = Counted().Gather(values, root);
  if (!gathered.ok()) return Note(gathered.status());
  return gathered;
}

Result<std::vector<at::Tensor>> WatchedCollective::AllGather(const at::Tensor& values) {
  Result<std::vector<at::Tensor>> gathered = Counted().AllGather(values);
  if (!gathered.ok()) return Note(gathered.status());
  return gathered;
}

Status WatchedCollective::Barrier() { return Note(Counted().Barrier()); }

Status WatchedCollective::AwaitReplay() { return Note(gang_->AwaitReplay()); }

Result<bool> WatchedCollective::AllHave(bool own) {
  at::Tensor missing = at::full({1}, own ? 0 : 1, at::kInt);
  RETORT_RETURN_IF_ERROR(AllReduceSum(missing));
  return missing.item<std::int32_t>() == 0;
}

namespace {

// Holds the copy on the device until the caller's tensor has the result.
class StagedOperation final : public PendingOperation {
 public:
  StagedOperation(at::Tensor values, at::Tensor staged) : values_(std::move(values)), staged_(std::move(staged)) {}
  void Under(std::unique_ptr<PendingOperation> operation) { operation_ = std::move(operation); }
  [[nodiscard]] at::Tensor& staged() { return staged_; }

  Status Wait() override {
    const Status done = operation_->Wait();
    if (done.ok()) values_.copy_(staged_);
    return done;
  }

 private:
  at::Tensor values_, staged_;
  std::unique_ptr<PendingOperation> operation_;  // last: waits before the copy goes
};

class StagedCollective final : public Collective {
 public:
  StagedCollective(at::Device device, std::unique_ptr<Collective> gang) : device_(device), gang_(std::move(gang)) {}

  GangRank rank() const override { return gang_->rank(); }
  int size() const override { return gang_->size(); }

  Status AllReduceSum(at::Tensor& values) override {
    if (Here(values)) return gang_->AllReduceSum(values);
    at::Tensor staged = values.to(device_);
    RETORT_RETURN_IF_ERROR(gang_->AllReduceSum(staged));
    values.copy_(staged);
    return {};
  }

  Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor& values) override {
    if (Here(values)) return gang_->BeginAllReduceSum(values);
    auto operation = std::make_unique<StagedOperation>(values, values.to(device_));
    RETORT_ASSIGN_OR_RETURN(auto begun, gang_->BeginAllReduceSum(operation->staged()));
    operation->Under(std::move(begun));
    return std::unique_ptr<PendingOperation>(std::move(operation));
  }

  void Expect(const at::Tensor& values) override {
    if (Here(values)) gang_->Expect(values);
  }

  Status Broadcast(at::Tensor& values, GangRank root) override {
    if (Here(values)) return gang_->Broadcast(values, root);
    at::Tensor staged = values.to(device_);
    RETORT_RETURN_IF_ERROR(gang_->Broadcast(staged, root));
    values.copy_(staged);
    return {};
  }

  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) override {
    if (Here(values)) return gang_->Gather(values, root);
    return Back(gang_->Gather(values.to(device_), root), values.device());
  }

  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override {
    if (Here(values)) return gang_->AllGather(values);
    return Back(gang_->AllGather(values.to(device_)), values.device());
  }

  Status Barrier() override { return gang_->Barrier(); }
  bool CanBeRecorded() const override { return gang_->CanBeRecorded(); }
  Status AwaitReplay() override { return gang_->AwaitReplay(); }

 private:
  [[nodiscard]] bool Here(const at::Tensor& values) const { return values.device() == device_; }

  static Result<std::vector<at::Tensor>> Back(Result<std::vector<at::Tensor>> parts, at::Device home) {
    if (!parts.ok()) return parts;
    for (at::Tensor& part : *parts) part = part.to(home);
    return parts;
  }

  at::Device device_;
  std::unique_ptr<Collective> gang_;
};

}  // namespace

std::unique_ptr<Collective> StageOn(at::Device device, std::unique_ptr<Collective> gang) {
  return std::make_unique<StagedCollective>(device, std::move(gang));
}

}  // namespace retort::worker
