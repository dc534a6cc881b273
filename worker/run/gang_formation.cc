#include "worker/run/gang_formation.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "worker/gang/gang_store.h"
#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

using std::chrono::milliseconds;

// Long enough for workers that are still starting: LibTorch and the data may have to be read from a busy disk.
constexpr milliseconds kMeetingDeadline{120'000};
// A dead peer is noticed at once, and watchdogs end a silent one. This deadline is for when they fail.
constexpr milliseconds kOperationDeadline{900'000};

// Keeps the store as long as the gang that met there.
class GangWithStore final : public Collective {
 public:
  GangWithStore(std::unique_ptr<GangStore> store, std::unique_ptr<Collective> gang)
      : store_(std::move(store)), gang_(std::move(gang)) {}
  GangRank rank() const override { return gang_->rank(); }
  int size() const override { return gang_->size(); }
  Status AllReduceSum(at::Tensor& values) override { return gang_->AllReduceSum(values); }
  Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor& values) override {
    return gang_->BeginAllReduceSum(values);
  }
  void Expect(const at::Tensor& values) override { gang_->Expect(values); }
  Status Broadcast(at::Tensor& values, GangRank root) override { return gang_->Broadcast(values, root); }
  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) override {
    return gang_->Gather(values, root);
  }
  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override { return gang_->AllGather(values); }
  Status Barrier() override { return gang_->Barrier(); }
  bool CanBeRecorded() const override { return gang_->CanBeRecorded(); }
  Status AwaitReplay() override { return gang_->AwaitReplay(); }

 private:
  std::unique_ptr<GangStore> store_;
  std::unique_ptr<Collective> gang_;  // last: leaves before the store closes
};

}  // namespace

Result<std::unique_ptr<Collective>> FormGangOn(const DeviceMeeting& meet, const cluster::Start& start,
                                               Generation generation, TrialHost& host) {
  if (start.gang_size == 1) return MakeSoloCollective();
  GangMembership membership;
  membership.rank = {start.gang_rank};
  membership.size = start.gang_size;
  membership.generation = generation;
  membership.host = start.gang_host;
  membership.meeting_deadline = kMeetingDeadline;
  membership.deadline = kOperationDeadline;
  std::unique_ptr<GangStore> store;
  if (start.gang_rank == 0) {
    RETORT_ASSIGN_OR_RETURN(store, OpenGangStore(start.gang_host));
    membership.address = store->address();
    RETORT_RETURN_IF_ERROR(host.AnnounceGang(membership.address));
  } else {
    RETORT_ASSIGN_OR_RETURN(membership.address, host.AwaitGang(kMeetingDeadline));
  }
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Collective> gang, meet(membership, start.device));
  return std::unique_ptr<Collective>(std::make_unique<GangWithStore>(std::move(store), std::move(gang)));
}

Result<std::unique_ptr<Collective>> FormGang(const cluster::Start& start, Generation generation, TrialHost& host) {
  return FormGangOn(MeetOnHost, start, generation, host);
}

}  // namespace retort::worker
