// Released answers in the order of the steps that use them: replayed after a restart, else paid for, drawn and handed
// over to the transcript. Nobody waits until they are durable but those that let something out that depends on them:
// worker/release/README.md says who.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "experiments/base/status.h"
#include "storage/results/checkpoint_store.h"
#include "worker/gang/row_share.h"
#include "worker/release/charge.h"
#include "worker/tensors/host_copy.h"

namespace retort::worker {

class ReleaseReplay {
 public:
  // `store` is null but on gang rank 0. Both outlive this. Answers are handed out on `device`. `copier`: how they come
  // to the host.
  ReleaseReplay(storage::CheckpointStore* store, Collective& gang, at::Device device = at::kCPU,
                HostCopier copier = StartHostCopy)
      : store_(store), gang_(gang), device_(device), copier_(std::move(copier)) {}

  // Where fresh releases are paid from; on gang rank 0, before the first one. `book` outlives this.
  void UseChargeBook(release::ChargeBook& book) { book_ = &book; }
  // A released answer read back from the transcript. Error: damage.
  [[nodiscard]] Status Insert(const storage::TranscriptRecord& record);
  // Tells every member for which steps gang rank 0 holds an answer. Once, after the last Insert.
  [[nodiscard]] Status ShareReplays();
  // On every member the answer of `step`. `draw` asks the teacher, on every member; on gang rank 0, which is
  // given the book to pay from, it releases, elsewhere (null) what it returns is ignored. It is not called when
  // the transcript holds the answer (`replayed`, when not null, is set). At most one release a step. Waits neither for
  // the device nor for the disk, but where more is on its way than the transcript's limit. Error, too: that of an
  // earlier answer which could not be written down; then nothing is drawn.
  [[nodiscard]] Result<at::Tensor> Obtain(std::int64_t step,
                                          const std::function<Result<at::Tensor>(release::ChargeBook*)>& draw,
                                          bool* replayed = nullptr);

 private:
  [[nodiscard]] Status Keep(std::int64_t step, const at::Tensor& value);
  [[nodiscard]] Result<at::Tensor> Shared(const at::Tensor& value);
  [[nodiscard]] bool Leads() const { return gang_.rank().value == 0; }
  storage::CheckpointStore* store_;
  Collective& gang_;
  at::Device device_;
  HostCopier copier_;
  release::ChargeBook* book_ = nullptr;
  std::map<std::int64_t, at::Tensor> replay_;  // undefined tensors but on gang rank 0
};

}  // namespace retort::worker
