#include "worker/gang/pair_sum.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "worker/gang/c10d_store.h"

namespace retort::worker {
namespace {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

constexpr std::uint32_t kTags = 1U << 20U;  // more than can be under way at once

}  // namespace

class PairSum::Pending final : public PendingOperation {
 public:
  Pending(at::Tensor values, Hearing hearing, WorkPointer sending, std::chrono::milliseconds deadline,
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
    values_.add_(hearing_.heard);
    return {};
  }

 private:
  at::Tensor values_;
  Hearing hearing_;
  WorkPointer sending_;
  std::chrono::milliseconds deadline_;
  std::string what_;
};

PairSum::PairSum(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, std::chrono::milliseconds deadline)
    : group_(std::move(group)), deadline_(deadline) {}

PairSum::Hearing PairSum::Listen(const at::Tensor& values) {
  Hearing hearing{values.const_data_ptr(), at::empty_like(values), nullptr,
                  static_cast<int>(listened_++ % kTags)};
  std::vector<at::Tensor> into{hearing.heard};
  hearing.receiving = group_->recv(into, other(), hearing.tag);
  return hearing;
}

// A failure shows again, to whoever begins the sum.
void PairSum::Expect(const at::Tensor& values) {
  static_cast<void>(CatchC10d("", [&] { expected_.push_back(Listen(values)); }));
}

PairSum::Hearing PairSum::TakeExpected(const at::Tensor& values) {
  const auto found = std::find_if(expected_.begin(), expected_.end(), [&](const Hearing& hearing) {
    return hearing.of == values.const_data_ptr() && hearing.heard.sizes() == values.sizes();
  });
  if (found == expected_.end()) return Listen(values);
  Hearing hearing = std::move(*found);
  expected_.erase(found);
  return hearing;
}

Result<std::unique_ptr<PendingOperation>> PairSum::Begin(at::Tensor& values, const std::string& what) {
  std::unique_ptr<PendingOperation> pending;
  RETORT_RETURN_IF_ERROR(CatchC10d(what, [&] {
    Hearing hearing = TakeExpected(values);
    std::vector<at::Tensor> own{values};
    WorkPointer sending = group_->send(own, other(), hearing.tag);
    pending = std::make_unique<Pending>(values, std::move(hearing), std::move(sending), deadline_, what);
  }));
  return pending;
}

}  // namespace retort::worker
