#include "worker/gang/gloo_collective.h"

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "worker/gang/c10d_store.h"

namespace retort::worker {
namespace {

class GlooCollective final : public Collective {
 public:
  GlooCollective(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, std::chrono::milliseconds deadline)
      : group_(std::move(group)), deadline_(deadline) {}

  GangRank rank() const override { return {group_->getRank()}; }
  int size() const override { return group_->getSize(); }

  Status AllReduceSum(at::Tensor& values) override {
    return Operation("all-reduce", [&] {
      std::vector<at::Tensor> tensors{values};
      c10d::AllreduceOptions options;
      options.timeout = deadline_;
      group_->allreduce(tensors, options)->wait();
    });
  }

  Status Broadcast(at::Tensor& values, GangRank root) override {
    return Operation("broadcast", [&] {
      std::vector<at::Tensor> tensors{values};
      c10d::BroadcastOptions options;
      options.rootRank = root.value;
      options.timeout = deadline_;
      group_->broadcast(tensors, options)->wait();
    });
  }

  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) override {
    std::vector<at::Tensor> gathered;
    RETORT_RETURN_IF_ERROR(Operation("gather", [&] {
      std::vector<std::vector<at::Tensor>> outputs;
      if (group_->getRank() == root.value) {
        for (int i = 0; i < group_->getSize(); ++i) gathered.push_back(at::empty_like(values));
        outputs.push_back(gathered);
      }
      std::vector<at::Tensor> inputs{values};
      c10d::GatherOptions options;
      options.rootRank = root.value;
      options.timeout = deadline_;
      group_->gather(outputs, inputs, options)->wait();
    }));
    return gathered;
  }

  Status Barrier() override {
    return Operation("barrier", [&] {
      c10d::BarrierOptions options;
      options.timeout = deadline_;
      group_->barrier(options)->wait();
    });
  }

 private:
  Status Operation(const char* name, const std::function<void()>& body) {
    return CatchC10d(std::string("The gang's ") + name + " on gang rank " + std::to_string(group_->getRank()),
                     body);
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::chrono::milliseconds deadline_;
};

}  // namespace

Result<std::unique_ptr<Collective>> JoinGlooGang(const GangMembership& membership) {
  RETORT_ASSIGN_OR_RETURN(const auto store, ConnectGangStore(membership));
  std::unique_ptr<Collective> joined;
  const std::string who = "Gang rank " + std::to_string(membership.rank.value) + " of " +
                          std::to_string(membership.size) + ": meeting the gang";
  RETORT_RETURN_IF_ERROR(CatchC10d(who, [&] {
    auto options = c10d::ProcessGroupGloo::Options::create(membership.deadline);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(membership.host));
    options->threads = 1;
    joined = std::make_unique<GlooCollective>(
        c10::make_intrusive<c10d::ProcessGroupGloo>(store, membership.rank.value, membership.size, options),
        membership.deadline);
  }));
  return joined;
}

}  // namespace retort::worker
