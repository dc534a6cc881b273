// A collective that knows tensors of devices alone, as NCCL does.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "worker/gang/collective.h"

namespace retort::worker {

// Refuses what is not on a device, or not contiguous.
class DevicesOnly final : public Collective {
 public:
  explicit DevicesOnly(std::unique_ptr<Collective> gang) : gang_(std::move(gang)) {}
  GangRank rank() const override { return gang_->rank(); }
  int size() const override { return gang_->size(); }
  Status AllReduceSum(at::Tensor& values) override {
    return Checked(values, [&] { return gang_->AllReduceSum(values); });
  }
  void Expect(const at::Tensor& values) override { gang_->Expect(values); }
  Status Broadcast(at::Tensor& values, GangRank root) override {
    return Checked(values, [&] { return gang_->Broadcast(values, root); });
  }
  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) override {
    RETORT_RETURN_IF_ERROR(Checked(values, [] { return Status(); }));
    return gang_->Gather(values, root);
  }
  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override {
    RETORT_RETURN_IF_ERROR(Checked(values, [] { return Status(); }));
    return gang_->AllGather(values);
  }
  Status Barrier() override { return gang_->Barrier(); }

 private:
  static Status Checked(const at::Tensor& values, const std::function<Status()>& operation) {
    if (values.is_cpu() || !values.is_contiguous()) return EnvironmentError("The gang was given a tensor of the CPU.");
    return operation();
  }
  std::unique_ptr<Collective> gang_;
};

}  // namespace retort::worker
