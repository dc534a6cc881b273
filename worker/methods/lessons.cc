#include "worker/methods/lessons.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include <vector>

namespace retort::worker {

Lessons::Lessons(const TrialSpec& spec, std::int64_t step, Batch fresh, const TransferSet* earlier, Recall recall)
    : spec_(spec),
      fresh_(std::move(fresh)),
      earlier_(earlier),
      recall_(std::move(recall)),
      order_(spec.seed, Purpose::queries, static_cast<std::uint64_t>(step)),
      replay_(spec.seed, Purpose::replay, static_cast<std::uint64_t>(step)),
      dropout_(spec.seed, Purpose::dropout, static_cast<std::uint64_t>(step)) {}

Lessons::Batch Lessons::Rows(std::int64_t i) const {
  const auto wanted = static_cast<double>(spec_.student_batch);
  const std::int64_t replayed =
      earlier_ != nullptr ? static_cast<std::int64_t>(wanted * spec_.replay_fraction) : 0;
  const at::Tensor rows = FreshRows(i, spec_.student_batch - replayed);
  Batch batch{fresh_.first.index_select(0, rows), fresh_.second.index_select(0, rows)};
  if (replayed > 0) {
    const RngStream stream = replay_.Lane(static_cast<std::uint64_t>(i));
    const auto [kept, y] =
        spec_.balance ? earlier_->SampleEvenly(replayed, stream) : earlier_->Sample(replayed, stream);
    batch = {at::cat({batch.first, recall_ ? recall_(kept) : kept}), at::cat({batch.second, y})};
  }
  return batch;
}

at::Tensor Lessons::FreshRows(std::int64_t i, std::int64_t count) const {
  const std::int64_t rows_of_batch = fresh_.first.size(0);
  std::vector<std::int64_t> rows, permutation;
  std::int64_t pass = -1;
  for (std::int64_t k = i * count; k < (i + 1) * count; ++k) {
    if (k / rows_of_batch != pass) {
      pass = k / rows_of_batch;
      permutation = Permutation(rows_of_batch, order_.Lane(static_cast<std::uint64_t>(pass)));
    }
    rows.push_back(permutation[static_cast<std::size_t>(k % rows_of_batch)]);
  }
  return at::tensor(rows, at::device(fresh_.first.device()).dtype(at::kLong));
}

}  // namespace retort::worker
