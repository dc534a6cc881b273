#include "worker/methods/released_rows.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "experiments/spec/status.h"
#include "worker/release/answer_memory.h"

namespace retort::worker {

ReleasedRows::ReleasedRows(std::int64_t capacity, std::int64_t classes, at::ScalarType type)
    : digests_(at::empty({capacity, release::kDigestBytes}, at::kByte)),
      values_(at::empty({capacity, classes}, type)) {}

void ReleasedRows::Append(const at::Tensor& inputs, const at::Tensor& values) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = inputs.size(0);
  RETORT_CHECK(values.size(0) == rows && rows_ + rows <= digests_.size(0));
  digests_.narrow(0, rows_, rows).copy_(release::QueryDigests(inputs));
  values_.narrow(0, rows_, rows).copy_(values);
  rows_ += rows;
}

std::pair<at::Tensor, at::Tensor> ReleasedRows::TakeNew() {
  const std::int64_t first = taken_, count = rows_ - taken_;
  taken_ = rows_;
  return {digests_.narrow(0, first, count), values_.narrow(0, first, count)};
}

void ReleasedRows::Register(TrainState& state, const std::string& prefix) {
  state.AddRows(prefix + "digests", digests_, &rows_);
  state.AddRows(prefix + "values", values_, &rows_);
}

}  // namespace retort::worker
