#include "worker/gang/pair_sum.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "worker/gang/c10d_store.h"

namespace retort::worker {
namespace {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

constexpr std::uint32_t kTags = 1U << 20U;  // more than can be under way at once

class PendingPairSum final : public PendingOperation {
 public:
  PendingPairSum(at::Tensor values, at::Tensor heard, std::chrono::milliseconds deadline, std::string what)
      : values_(std::move(values)), heard_(std::move(heard)), deadline_(deadline), what_(std::move(what)) {}
  ~PendingPairSum() override {
    if (begun_) static_cast<void>(Wait());
  }

  // Receives first: what arrives meanwhile goes straight into its place.
  Status Start(c10d::ProcessGroupGloo& group, int tag) {
    return CatchC10d(what_, [&] {
      const int other = 1 - group.getRank();
      std::vector<at::Tensor> in{heard_}, out{values_};
      receiving_ = group.recv(in, other, tag);
      begun_ = true;
      sending_ = group.send(out, other, tag);
    });
  }

  Status Wait() override {
    begun_ = false;
    RETORT_RETURN_IF_ERROR(CatchC10d(what_, [&] {
      for (const WorkPointer& work : {std::exchange(receiving_, nullptr), std::exchange(sending_, nullptr)})
        if (work && !work->wait(deadline_)) TORCH_CHECK(false, "broken off");
    }));
    values_.add_(heard_);
    return {};
  }

 private:
  at::Tensor values_, heard_;
  std::chrono::milliseconds deadline_;
  std::string what_;
  bool begun_ = false;
  WorkPointer receiving_, sending_;
};

}  // namespace

PairSum::PairSum(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, std::chrono::milliseconds deadline)
    : group_(std::move(group)), deadline_(deadline) {}

Result<std::unique_ptr<PendingOperation>> PairSum::Begin(at::Tensor& values, const std::string& what) {
  auto pending = std::make_unique<PendingPairSum>(values, at::empty_like(values), deadline_, what);
  RETORT_RETURN_IF_ERROR(pending->Start(*group_, static_cast<int>(begun_++ % kTags)));
  return std::unique_ptr<PendingOperation>(std::move(pending));
}

}  // namespace retort::worker
