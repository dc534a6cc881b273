#include "worker/models/buffer_arena.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

namespace retort::worker {

BufferArena::BufferArena(const std::vector<std::int64_t>& channels,
                         const std::vector<std::vector<std::int64_t>>& constants, at::Device device) {
  std::int64_t size = 0;
  for (const std::int64_t n : channels) size += 2 * n;
  flat_ = at::zeros({size}, at::device(device).dtype(at::kFloat));
  counts_ = at::zeros({static_cast<std::int64_t>(channels.size())}, at::device(device).dtype(at::kLong));
  std::int64_t offset = 0;
  for (const std::int64_t n : channels) {
    means_.push_back(flat_.narrow(0, offset, n));
    variances_.push_back(flat_.narrow(0, offset + n, n));
    offset += 2 * n;
  }
  Reset();
  size = 0;
  for (const std::vector<std::int64_t>& shape : constants) size += c10::multiply_integers(shape);
  constants_ = at::zeros({size}, at::device(device).dtype(at::kFloat));
  offset = 0;
  for (const std::vector<std::int64_t>& shape : constants) {
    const std::int64_t values = c10::multiply_integers(shape);
    constant_views_.push_back(constants_.narrow(0, offset, values).view(shape));
    offset += values;
  }
}

void BufferArena::Reset() {
  flat_.zero_();
  counts_.zero_();
  for (at::Tensor& variance : variances_) variance.fill_(1);
}

Status BufferArena::ShareInGang(std::int64_t own_rows, std::int64_t rows, Collective& gang) {
  if (empty() || gang.size() == 1 || rows == 0) return {};
  const at::NoGradGuard no_grad;
  flat_.mul_(static_cast<double>(own_rows) / static_cast<double>(rows));
  return gang.AllReduceSum(flat_);
}

}  // namespace retort::worker
