#include "worker/gang/gloo_collective.h"

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "worker/gang/c10d_store.h"
#include "worker/gang/collective.h"

namespace retort::worker {
namespace {

// The sum of a gang of two over Gloo: both members send all that they have at once and add what they receive. A ring
// moves as many bytes, in two rounds that wait for each other and for threads of its own.
class PairSum {
 public:
  // `group` has two members.
  PairSum(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, std::chrono::milliseconds deadline);

  // As Collective::Expect: the other member may send its part as soon as it has it. Nothing can be sent
  // before its receiver is ready.
  void Expect(const at::Tensor& values);
  // As Collective::BeginAllReduceSum. `values` is contiguous. Each member receives from the other within the
  // deadline, or Wait ends with an error that begins with `what`.
  [[nodiscard]] Result<std::unique_ptr<PendingOperation>> Begin(at::Tensor& values, const std::string& what);

 private:
  // One exchange: where the other member's part goes.
  struct Exchange {
    const void* of = nullptr;  // the values that it will be added to
    at::Tensor received;
    c10::intrusive_ptr<c10d::Work> receiving;
    int tag = 0;
  };
  class Pending;
  [[nodiscard]] Exchange StartReceiving(const at::Tensor& values);
  [[nodiscard]] Exchange TakeExpected(const at::Tensor& values);
  [[nodiscard]] int other() const { return 1 - group_->getRank(); }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::chrono::milliseconds deadline_;
  std::uint32_t exchanges_ = 0;  // exchanges so far, the same on both members: their tags
  std::deque<Exchange> expected_;
};

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

constexpr std::uint32_t kTags = 1U << 20U;  // more than can be under way at once

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
    return std::unique_ptr<PendingOperation>(std::make_unique<GlooOperation>(std::move(work), Named("all-reduce")));
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
  Status Operation(const char* name, const std::function<void()>& body) { return CatchC10d(Named(name), body); }
  std::string Named(const char* name) const {
    return std::string("The gang's ") + name + " on gang rank " + std::to_string(group_->getRank());
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  PairSum pair_;
  std::chrono::milliseconds deadline_;
};

}  // namespace

class PairSum::Pending final : public PendingOperation {
 public:
  Pending(at::Tensor values, Exchange hearing, WorkPointer sending, std::chrono::milliseconds deadline,
          std::string what)
      : values_(std::move(values)),
        hearing_(std::move(hearing)),
        sending_(std::move(sending)),
        deadline_(deadline),
        what_(std::move(what)) {}
  ~Pending() override {
    if (sending_) static_cast<void>(Wait());
  }

  Status Wait() override {
    RETORT_RETURN_IF_ERROR(CatchC10d(what_, [&] {
      const WorkPointer sending = std::exchange(sending_, nullptr);
      for (const WorkPointer& work : {hearing_.receiving, sending})
        TORCH_CHECK(work->wait(deadline_), "it was broken off");
    }));
    values_.add_(hearing_.received);
    return {};
  }

 private:
  at::Tensor values_;
  Exchange hearing_;
  WorkPointer sending_;
  std::chrono::milliseconds deadline_;
  std::string what_;
};

PairSum::PairSum(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, std::chrono::milliseconds deadline)
    : group_(std::move(group)), deadline_(deadline) {}

PairSum::Exchange PairSum::StartReceiving(const at::Tensor& values) {
  Exchange hearing{values.const_data_ptr(), at::empty_like(values), nullptr, static_cast<int>(exchanges_++ % kTags)};
  std::vector<at::Tensor> into{hearing.received};
  hearing.receiving = group_->recv(into, other(), hearing.tag);
  return hearing;
}

// A failure is reported again when the sum begins.
void PairSum::Expect(const at::Tensor& values) {
  static_cast<void>(CatchC10d("", [&] { expected_.push_back(StartReceiving(values)); }));
}

PairSum::Exchange PairSum::TakeExpected(const at::Tensor& values) {
  const auto found = std::find_if(expected_.begin(), expected_.end(), [&](const Exchange& hearing) {
    return hearing.of == values.const_data_ptr() && hearing.received.sizes() == values.sizes();
  });
  if (found == expected_.end()) return StartReceiving(values);
  Exchange hearing = std::move(*found);
  expected_.erase(found);
  return hearing;
}

Result<std::unique_ptr<PendingOperation>> PairSum::Begin(at::Tensor& values, const std::string& what) {
  std::unique_ptr<PendingOperation> pending;
  RETORT_RETURN_IF_ERROR(CatchC10d(what, [&] {
    Exchange hearing = TakeExpected(values);
    std::vector<at::Tensor> own{values};
    WorkPointer sending = group_->send(own, other(), hearing.tag);
    pending = std::make_unique<Pending>(values, std::move(hearing), std::move(sending), deadline_, what);
  }));
  return pending;
}

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
