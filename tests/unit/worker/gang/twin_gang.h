// A gang of two whose other member is the same as this one: whatever is summed doubles, on every device.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "worker/gang/collective.h"

namespace retort::worker {

class TwinGang : public Collective {
 public:
  GangRank rank() const override { return {0}; }
  int size() const override { return 2; }
  Status AllReduceSum(at::Tensor& values) override {
    values.mul_(2);
    return {};
  }
  void Expect(const at::Tensor&) override {}
  Status Broadcast(at::Tensor&, GangRank) override { return {}; }
  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank) override { return AllGather(values); }
  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override {
    return std::vector<at::Tensor>{values.clone(), values.clone()};
  }
  Status Barrier() override { return {}; }
  bool CanBeRecorded() const override { return true; }
};

}  // namespace retort::worker
