#include "worker/gang/staged_collective.h"

#include <utility>
#include <vector>

namespace retort::worker {
namespace {

// Holds the copy on the device until the caller's tensor has the result.
class StagedOperation final : public PendingOperation {
 public:
  StagedOperation(at::Tensor values, at::Tensor staged)
      : values_(std::move(values)), staged_(std::move(staged)) {}
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
  StagedCollective(at::Device device, std::unique_ptr<Collective> gang)
      : device_(device), gang_(std::move(gang)) {}

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
