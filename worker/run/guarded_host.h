// The host of a trial, to which nothing is said before the released answers that it may depend on are durable.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "storage/results/checkpoint_store.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {

// Progress carries losses and accuracies, a reservation's size follows from earlier answers, and so may the step of
// whatever is said.
class GuardedHost final : public TrialHost {
 public:
  // `host` outlives this.
  explicit GuardedHost(TrialHost& host) : host_(host) {}
  // On gang rank 0, before the first answer; `store`, which takes the answers, outlives this.
  void Guard(storage::CheckpointStore& store) { store_ = &store; }
  // Returns when what may be said now rests on durable answers alone. Error: that of the store.
  [[nodiscard]] Status AwaitAnswers() { return store_ != nullptr ? store_->AwaitReleased() : Status(); }

  // Errors of all that say something: those of AwaitAnswers, too.
  [[nodiscard]] Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    RETORT_RETURN_IF_ERROR(AwaitAnswers());
    return host_.Reserve(event, count);
  }
  [[nodiscard]] Status ChargeDrawn(const privacy::PrivacyEvent& event, std::int64_t count) override {
    RETORT_RETURN_IF_ERROR(AwaitAnswers());
    return host_.ChargeDrawn(event, count);
  }
  [[nodiscard]] Status Settle(std::uint64_t id, std::int64_t used) override {
    RETORT_RETURN_IF_ERROR(AwaitAnswers());
    return host_.Settle(id, used);
  }
  [[nodiscard]] Status Report(const cluster::Progress& progress) override {
    RETORT_RETURN_IF_ERROR(AwaitAnswers());
    return host_.Report(progress);
  }
  [[nodiscard]] Status Report(const cluster::CheckpointCommitted& committed) override {
    RETORT_RETURN_IF_ERROR(AwaitAnswers());
    return host_.Report(committed);
  }
  [[nodiscard]] Status AnnounceGang(const std::string& address) override { return host_.AnnounceGang(address); }
  [[nodiscard]] Result<std::string> AwaitGang(std::chrono::milliseconds deadline) override {
    return host_.AwaitGang(deadline);
  }
  [[nodiscard]] std::optional<cluster::Stop> StopRequested() override { return host_.StopRequested(); }

 private:
  TrialHost& host_;
  storage::CheckpointStore* store_ = nullptr;
};

}  // namespace retort::worker
