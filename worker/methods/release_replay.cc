#include "worker/methods/release_replay.h"

#include <ATen/ops/tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "worker/tensors/tensor_codec.h"

namespace retort::worker {

Status ReleaseReplay::Insert(const storage::TranscriptRecord& record) {
  if (record.released.size() != 1) return DamageError("A transcript record does not hold exactly one release.");
  RETORT_ASSIGN_OR_RETURN(at::Tensor value, MakeTensorFromBlob(record.released[0]));
  replay_[record.step] = std::move(value);
  return {};
}

Status ReleaseReplay::ShareReplays() {
  std::vector<std::int64_t> steps;
  for (const auto& [step, value] : replay_) steps.push_back(step);
  RETORT_ASSIGN_OR_RETURN(const at::Tensor shared, BroadcastFromRoot(at::tensor(steps, at::kLong), gang_));
  const auto* step = shared.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < shared.numel(); ++i) replay_.try_emplace(step[i]);
  return {};
}

Result<at::Tensor> ReleaseReplay::Obtain(std::int64_t step,
                                         const std::function<Result<at::Tensor>(release::ChargeBook*)>& draw,
                                         bool* replayed) {
  const auto found = replay_.find(step);
  if (replayed != nullptr) *replayed = found != replay_.end();
  if (found != replay_.end()) {
    const at::Tensor value = std::move(found->second);
    replay_.erase(found);
    return Shared(value);
  }
  RETORT_CHECK(!Leads() || book_ != nullptr);
  if (Leads()) RETORT_RETURN_IF_ERROR(store_->released_status());
  RETORT_ASSIGN_OR_RETURN(const at::Tensor value, draw(book_));
  if (Leads()) RETORT_RETURN_IF_ERROR(Keep(step, value));
  return Shared(value);
}

// Hands it over to the transcript.
Status ReleaseReplay::Keep(std::int64_t step, const at::Tensor& value) {
  const std::shared_ptr<HostCopy> copy = copier_(value);
  return store_->QueueReleased(step, value.nbytes(), [step, copy]() -> Result<storage::TranscriptRecord> {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor values, copy->Await());
    return storage::TranscriptRecord{step, {MakeTensorBlob("released", values)}};
  });
}

Result<at::Tensor> ReleaseReplay::Shared(const at::Tensor& value) {
  RETORT_ASSIGN_OR_RETURN(const at::Tensor shared, BroadcastFromRoot(value, gang_));
  return shared.to(device_);
}

}  // namespace retort::worker
