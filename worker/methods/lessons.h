// What the student sees in the steps between two releases: rows of the newest batch, again and again in permuted order,
// and rows of earlier batches.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "experiments/spec/trial_spec.h"
#include "worker/distill/transfer_set.h"
#include "worker/rng_streams.h"

namespace retort::worker {

class Lessons {
 public:
  using Batch = std::pair<at::Tensor, at::Tensor>;  // images [n, C, H, W], targets [n, classes]
  // The images behind rows of a transfer set that does not keep them.
  using Recall = std::function<at::Tensor(const at::Tensor& kept)>;

  // Those of release step `step`, whose batch is `fresh`. `earlier`: null, or a set that stores rows; an empty `recall`
  // takes them as they are. `spec` and `earlier` outlive it.
  Lessons(const TrialSpec& spec, std::int64_t step, Batch fresh, const TransferSet* earlier, Recall recall = {});

  // spec.student_batch rows for student step i, replay_fraction of them from `earlier`.
  [[nodiscard]] Batch Rows(std::int64_t i) const;
  [[nodiscard]] RngStream Dropout(std::int64_t i) const { return dropout_.Lane(static_cast<std::uint64_t>(i)); }

 private:
  [[nodiscard]] at::Tensor FreshRows(std::int64_t i, std::int64_t count) const;
  const TrialSpec& spec_;
  Batch fresh_;
  const TransferSet* earlier_;
  Recall recall_;
  RngStream order_, replay_, dropout_;
};

}  // namespace retort::worker
