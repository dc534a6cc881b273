#include "worker/methods/epoch_batches.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>

#include "experiments/spec/status.h"

namespace retort::worker {

EpochBatches::EpochBatches(at::Tensor rows, std::int64_t batch, std::uint64_t seed, std::uint64_t lane)
    : rows_(std::move(rows)),
      batch_(std::min(batch, rows_.size(0))),
      per_epoch_((rows_.size(0) + batch_ - 1) / batch_),
      seed_(seed),
      lane_(lane) {
  RETORT_CHECK(rows_.size(0) > 0 && batch > 0);
}

at::Tensor EpochBatches::Of(std::int64_t step) {
  const std::int64_t epoch = step / per_epoch_, first = step % per_epoch_ * batch_;
  if (epoch != epoch_) {
    epoch_ = epoch;
    const RngStream stream(seed_, Purpose::batches, static_cast<std::uint64_t>(epoch), lane_);
    const at::Tensor order = at::tensor(Permutation(rows_.size(0), stream), at::kLong).to(rows_.device());
    order_ = rows_.index_select(0, order);
  }
  return order_.narrow(0, first, std::min(batch_, rows_.size(0) - first));
}

}  // namespace retort::worker
