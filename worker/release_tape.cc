#include "worker/release_tape.h"

#include <utility>

#include "worker/tensor_codec.h"

namespace retort::worker {

Status ReleaseTape::Insert(const storage::TranscriptRecord& record) {
  if (record.released.size() != 1) return DamageError("A transcript record does not hold exactly one release.");
  RETORT_ASSIGN_OR_RETURN(at::Tensor value, FromBlob(record.released[0]));
  replay_[record.step] = std::move(value);
  return {};
}

Result<at::Tensor> ReleaseTape::Obtain(std::int64_t step,
                                       const std::function<Result<at::Tensor>(release::ChargeBook&)>& draw,
                                       bool* replayed) {
  const auto found = replay_.find(step);
  if (replayed != nullptr) *replayed = found != replay_.end();
  if (found != replay_.end()) {
    at::Tensor value = std::move(found->second);
    replay_.erase(found);
    return value;
  }
  RETORT_CHECK(book_ != nullptr);
  RETORT_ASSIGN_OR_RETURN(at::Tensor value, draw(*book_));
  RETORT_RETURN_IF_ERROR(store_.AppendReleased({step, {ToBlob("released", value)}}));
  return value;
}

}  // namespace retort::worker
