// How the rows of one global batch are spread over a gang.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/base/status.h"
#include "worker/gang/collective.h"

namespace retort::worker {

// Rows [first, first + count) of a batch.
struct RowShare {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Contiguous and in rank order; counts differ by at most one, the larger ones first.
[[nodiscard]] RowShare ComputeRowShare(std::int64_t rows, const Collective& gang);
[[nodiscard]] inline at::Tensor Own(const at::Tensor& batch, RowShare share) {
  return batch.narrow(0, share.first, share.count);
}

// `own` holds this member's share of `rows` rows; on every member all of them, in order.
[[nodiscard]] Result<at::Tensor> AllGatherRows(const at::Tensor& own, std::int64_t rows, Collective& gang);
// The same on gang rank 0; elsewhere undefined.
[[nodiscard]] Result<at::Tensor> GatherRowsToRoot(const at::Tensor& own, std::int64_t rows, Collective& gang);
// Returns what gang rank 0 has, whose shape the others need not know; `value` is ignored there.
[[nodiscard]] Result<at::Tensor> BroadcastFromRoot(const at::Tensor& value, Collective& gang);
// In f64, each element over the gang.
[[nodiscard]] Status SumOverGang(std::vector<double>& values, Collective& gang);

}  // namespace retort::worker
