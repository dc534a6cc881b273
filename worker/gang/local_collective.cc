#include "worker/gang/local_collective.h"

#include <ATen/ATen.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace retort::worker {
namespace {

using RankParts = std::vector<at::Tensor>;

at::Tensor CopyTo(const at::Tensor& part, at::Device device) {
  return part.to(device, part.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}

// Where the threads of one gang meet: each operation is one round in which every member leaves a
// tensor and takes all of them.
class Meeting {
 public:
  Meeting(int size, std::chrono::milliseconds deadline) : deadline_(deadline), slots_(static_cast<std::size_t>(size)) {}

  Result<std::shared_ptr<const RankParts>> Exchange(int rank, at::Tensor part) {
    std::unique_lock lock(mutex_);
    if (!cause_.empty()) return EnvironmentError(cause_);
    slots_[static_cast<std::size_t>(rank)] = std::move(part);
    const std::uint64_t round = round_;
    if (++arrived_ == slots_.size()) {
      complete_ = std::make_shared<const RankParts>(slots_);
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return complete_;
    }
    const bool done = changed_.wait_for(lock, deadline_, [&] { return round_ != round || !cause_.empty(); });
    if (round_ != round) return complete_;  // the next round cannot complete before this member returns
    if (!done) {
      Fail("Gang rank " + std::to_string(rank) + " waited " + std::to_string(deadline_.count()) +
           " ms for the other members.");
    }
    return EnvironmentError(cause_);
  }

  void Leave(int rank) {
    const std::lock_guard lock(mutex_);
    Fail("Gang rank " + std::to_string(rank) + " left the gang.");
  }

 private:
  void Fail(std::string cause) {
    if (cause_.empty()) cause_ = std::move(cause);  // the first cause wins
    changed_.notify_all();
  }

  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  RankParts slots_;
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
  std::string cause_;
  std::shared_ptr<const RankParts> complete_;
};

class LocalCollective final : public Collective {
 public:
  LocalCollective(std::shared_ptr<Meeting> meeting, int rank, int size)
      : meeting_(std::move(meeting)), rank_(rank), size_(size) {}
  ~LocalCollective() override { meeting_->Leave(rank_); }

  GangRank rank() const override { return {rank_}; }
  int size() const override { return size_; }

  Status AllReduceSum(at::Tensor& values) override {
    RETORT_ASSIGN_OR_RETURN(const auto parts, meeting_->Exchange(rank_, values.clone()));
    at::Tensor sum = parts->front().clone();
    for (std::size_t i = 1; i < parts->size(); ++i) sum += (*parts)[i].to(sum.device());
    values.copy_(sum);
    return {};
  }

  void Expect(const at::Tensor&) override {}

  Status Broadcast(at::Tensor& values, GangRank root) override {
    RETORT_ASSIGN_OR_RETURN(const auto parts, meeting_->Exchange(rank_, values.clone()));
    values.copy_((*parts)[static_cast<std::size_t>(root.value)]);
    return {};
  }

  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) override {
    RETORT_ASSIGN_OR_RETURN(const auto parts, meeting_->Exchange(rank_, values.clone()));
    std::vector<at::Tensor> gathered;
    if (rank_ != root.value) return gathered;
    for (const at::Tensor& part : *parts) gathered.push_back(CopyTo(part, values.device()));
    return gathered;
  }

  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override {
    RETORT_ASSIGN_OR_RETURN(const auto parts, meeting_->Exchange(rank_, values.clone()));
    std::vector<at::Tensor> gathered;
    for (const at::Tensor& part : *parts) gathered.push_back(CopyTo(part, values.device()));
    return gathered;
  }

  Status Barrier() override {
    RETORT_ASSIGN_OR_RETURN([[maybe_unused]] const auto parts, meeting_->Exchange(rank_, at::Tensor()));
    return {};
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  int rank_, size_;
};

class SoloCollective final : public Collective {
 public:
  GangRank rank() const override { return {0}; }
  int size() const override { return 1; }
  Status AllReduceSum(at::Tensor&) override { return {}; }
  void Expect(const at::Tensor&) override {}
  Status Broadcast(at::Tensor&, GangRank) override { return {}; }
  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank) override {
    return std::vector<at::Tensor>{values.clone()};
  }
  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override {
    return std::vector<at::Tensor>{values.clone()};
  }
  Status Barrier() override { return {}; }
};

}  // namespace

std::unique_ptr<Collective> MakeSoloCollective() { return std::make_unique<SoloCollective>(); }

std::vector<std::unique_ptr<Collective>> MakeLocalGang(int size, std::chrono::milliseconds deadline) {
  RETORT_CHECK(size >= 1);
  auto meeting = std::make_shared<Meeting>(size, deadline);
  std::vector<std::unique_ptr<Collective>> members;
  for (int rank = 0; rank < size; ++rank) members.push_back(std::make_unique<LocalCollective>(meeting, rank, size));
  return members;
}

}  // namespace retort::worker
