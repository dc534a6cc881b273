#include "worker/cuda/nccl_collective.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "worker/gang/c10d_store.h"

namespace retort::worker {
namespace {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

// Whether the current stream notes what it is told.
bool IsRecorded() { return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None; }

class NcclCollective final : public Collective {
 public:
  NcclCollective(c10::intrusive_ptr<c10d::ProcessGroupNCCL> group, int device, std::chrono::milliseconds deadline)
      : group_(std::move(group)), device_(device), deadline_(deadline) {}

  GangRank rank() const override { return {group_->getRank()}; }
  int size() const override { return group_->getSize(); }

  Status AllReduceSum(at::Tensor& values) override {
    return Operation("all-reduce", [&] {
      std::vector<at::Tensor> tensors{values};
      return group_->allreduce(tensors);
    });
  }

  void Expect(const at::Tensor&) override {}

  Status Broadcast(at::Tensor& values, GangRank root) override {
    return Operation("broadcast", [&] {
      std::vector<at::Tensor> tensors{values};
      c10d::BroadcastOptions options;
      options.rootRank = root.value;
      return group_->broadcast(tensors, options);
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
      return group_->gather(outputs, inputs, options);
    }));
    return gathered;
  }

  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override {
    std::vector<at::Tensor> gathered;
    for (int i = 0; i < group_->getSize(); ++i) gathered.push_back(at::empty_like(values));
    RETORT_RETURN_IF_ERROR(Operation("all-gather", [&] {
      std::vector<std::vector<at::Tensor>> outputs{gathered};
      std::vector<at::Tensor> inputs{values};
      return group_->allgather(outputs, inputs);
    }));
    return gathered;
  }

  // Runs on NCCL's own stream; Wait orders the current stream after it.
  Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor& values) override {
    WorkPointer work;
    RETORT_RETURN_IF_ERROR(CatchC10d(Named("all-reduce"), [&] {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device_));
      std::vector<at::Tensor> tensors{values};
      work = group_->allreduce(tensors);
    }));
    return std::unique_ptr<PendingOperation>(std::make_unique<NcclOperation>(*this, std::move(work)));
  }

  Status Barrier() override {
    return Operation("barrier", [&] {
      c10d::BarrierOptions options;
      options.device_ids = {device_};
      return group_->barrier(options);
    });
  }

  bool CanBeRecorded() const override { return true; }

  Status AwaitReplay() override {
    const std::string what = Named("recorded step");
    at::cuda::CUDAEvent replayed;
    RETORT_RETURN_IF_ERROR(CatchC10d(what, [&] {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device_));
      replayed.record();
    }));
    return Await(
        what, [&] { return replayed.query(); }, [] {});
  }

 private:
  class NcclOperation final : public PendingOperation {
   public:
    NcclOperation(NcclCollective& owner, WorkPointer work) : owner_(owner), work_(std::move(work)) {}
    ~NcclOperation() override {
      if (work_) static_cast<void>(Wait());
    }
    Status Wait() override { return owner_.Finish(owner_.Named("all-reduce"), std::exchange(work_, nullptr)); }

   private:
    NcclCollective& owner_;
    WorkPointer work_;
  };

  std::string Named(const char* name) const {
    return std::string("The gang's ") + name + " on gang rank " + std::to_string(group_->getRank());
  }

  Status Operation(const char* name, const std::function<WorkPointer()>& start) {
    WorkPointer work;
    RETORT_RETURN_IF_ERROR(CatchC10d(Named(name), [&] {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device_));
      work = start();
    }));
    return Finish(Named(name), work);
  }

  // A recorded operation has nothing to wait for, and its events cannot be asked: its stream is ordered alone.
  Status Finish(const std::string& what, const WorkPointer& work) {
    return Await(
        what, [&] { return IsRecorded() || work->isCompleted(); },
        [&] { work->wait(); });  // rethrows what went wrong, and orders the current stream after the operation
  }

  // `end` is called when `completed` says so.
  Status Await(const std::string& what, const std::function<bool()>& completed, const std::function<void()>& end) {
    bool done = false;
    RETORT_RETURN_IF_ERROR(CatchC10d(what, [&] {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device_));
      const auto until = std::chrono::steady_clock::now() + deadline_;
      while (!(done = completed()) && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      if (done) {
        end();
      } else {
        group_->abort();
      }
    }));
    if (done) return {};
    return EnvironmentError(what + " did not end within " + std::to_string(deadline_.count()) + " ms.");
  }

  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  int device_;
  std::chrono::milliseconds deadline_;
};

}  // namespace

Result<std::unique_ptr<Collective>> JoinNcclGang(const GangMembership& membership, int device) {
  // A recorded operation and one that is not have to meet where a member's recording failed, and registering buffers
  // of recorded ones is an agreement between members of its own.
  ::setenv("NCCL_GRAPH_REGISTER", "0", /*overwrite=*/0);
  RETORT_ASSIGN_OR_RETURN(const auto store, ConnectGangStore(membership));
  std::unique_ptr<Collective> joined;
  const std::string who = "Gang rank " + std::to_string(membership.rank.value) + " of " +
                          std::to_string(membership.size) + ": meeting the gang by NCCL";
  RETORT_RETURN_IF_ERROR(CatchC10d(who, [&] {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = membership.deadline;
    joined = std::make_unique<NcclCollective>(
        c10::make_intrusive<c10d::ProcessGroupNCCL>(store, membership.rank.value, membership.size, options), device,
        membership.deadline);
  }));
  return joined;
}

}  // namespace retort::worker
