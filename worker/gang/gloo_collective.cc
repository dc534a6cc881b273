#include "worker/gang/gloo_collective.h"

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "worker/gang/c10d_store.h"
#include "worker/gang/pair_sum.h"

namespace retort::worker {
namespace {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

class GlooOperation final : public PendingOperation {
 public:
  GlooOperation(WorkPointer work, std::string what) : work_(std::move(work)), what_(std::move(what)) {}
  ~GlooOperation() override {
    if (work_) static_cast<void>(Wait());
  }
  Status Wait() override {
    const WorkPointer work = std::exchange(work_, nullptr);
    return CatchC10d(what_, [&] { work->wait(); });
  }

 private:
  WorkPointer work_;
  std::string what_;
};

class GlooCollective final : public Collective {
 public:
  GlooCollective(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, std::chrono::milliseconds deadline)
      : group_(std::move(group)), pair_(group_, deadline), deadline_(deadline) {}

  GangRank rank() const override { return {group_->getRank()}; }
  int size() const override { return group_->getSize(); }

  Status AllReduceSum(at::Tensor& values) override {
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<PendingOperation> pending, BeginAllReduceSum(values));
    return pending->Wait();
  }

  Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor& values) override {
    if (group_->getSize() == 2) return pair_.Begin(values, Named("all-reduce"));
    WorkPointer work;
    RETORT_RETURN_IF_ERROR(Operation("all-reduce", [&] {
      std::vector<at::Tensor> tensors{values};
      c10d::AllreduceOptions options;
      options.timeout = deadline_;
      work = group_->allreduce(tensors, options);
    }));
    return std::unique_ptr<PendingOperation>(
        std::make_unique<GlooOperation>(std::move(work), Named("all-reduce")));
  }

  void Expect(const at::Tensor& values) override {
    if (group_->getSize() == 2) pair_.Expect(values);
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

  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override {
    std::vector<at::Tensor> gathered;
    RETORT_RETURN_IF_ERROR(Operation("all-gather", [&] {
      for (int i = 0; i < group_->getSize(); ++i) gathered.push_back(at::empty_like(values));
      std::vector<std::vector<at::Tensor>> outputs{gathered};
      std::vector<at::Tensor> inputs{values};
      c10d::AllgatherOptions options;
      options.timeout = deadline_;
      group_->allgather(outputs, inputs, options)->wait();
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
    return CatchC10d(Named(name), body);
  }
  std::string Named(const char* name) const {
    return std::string("The gang's ") + name + " on gang rank " + std::to_string(group_->getRank());
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  PairSum pair_;
  std::chrono::milliseconds deadline_;
};

}  // namespace

Result<std::unique_ptr<Collective>> JoinGlooGang(const GangMembership& membership) {
  RETORT_ASSIGN_OR_RETURN(const auto store, ConnectGangStore(membership));
  std::unique_ptr<Collective> joined;
  const std::string who = "Gang rank " + std::to_string(membership.rank.value) + " of " +
                          std::to_string(membership.size) + ": meeting the gang";
  RETORT_RETURN_IF_ERROR(CatchC10d(who, [&] {
    auto options = c10d::ProcessGroupGloo::Options::create(membership.meeting());
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(membership.host));
    options->threads = 1;
    joined = std::make_unique<GlooCollective>(
        c10::make_intrusive<c10d::ProcessGroupGloo>(store, membership.rank.value, membership.size, options),
        membership.deadline);
  }));
  return joined;
}

}  // namespace retort::worker
