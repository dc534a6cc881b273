// Released answers in the order of the steps that use them: replayed after a restart, else drawn, paid for
// and made durable before anybody sees them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>

#include "experiments/spec/status.h"
#include "storage/checkpoint_store.h"
#include "worker/release/charge.h"

namespace retort::worker {

class ReleaseTape {
 public:
  // `store` outlives the tape.
  explicit ReleaseTape(storage::CheckpointStore& store) : store_(store) {}

  // Where fresh releases are paid from; before the first one. `book` outlives the tape.
  void Fund(release::ChargeBook& book) { book_ = &book; }
  // A released answer read back from the transcript. Error: damage.
  [[nodiscard]] Status Insert(const storage::TranscriptRecord& record);
  // The answer of `step`. `draw` asks the teacher and releases; it is given the book to pay from. It is not
  // called when the transcript holds the answer (`replayed`, when not null, is set). At most one release a step.
  [[nodiscard]] Result<at::Tensor> Obtain(std::int64_t step,
                                          const std::function<Result<at::Tensor>(release::ChargeBook&)>& draw,
                                          bool* replayed = nullptr);

 private:
  storage::CheckpointStore& store_;
  release::ChargeBook* book_ = nullptr;
  std::map<std::int64_t, at::Tensor> replay_;
};

}  // namespace retort::worker
