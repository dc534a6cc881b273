#include "worker/gang/row_share.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace retort::worker {
namespace {

constexpr std::int64_t kMaxDimensions = 8;
constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble, at::kInt, at::kLong, at::kByte};

std::int64_t Largest(std::int64_t rows, const Collective& gang) { return (rows + gang.size() - 1) / gang.size(); }

// Equal shapes for everybody: the share with zeros behind it.
at::Tensor Padded(const at::Tensor& own, std::int64_t rows) {
  if (own.size(0) == rows) return own.contiguous();
  std::vector<std::int64_t> shape = own.sizes().vec();
  shape[0] = rows;
  at::Tensor padded = at::zeros(shape, own.options());
  padded.narrow(0, 0, own.size(0)).copy_(own);
  return padded;
}

at::Tensor Joined(const std::vector<at::Tensor>& parts, std::int64_t rows) {
  std::vector<at::Tensor> shares;
  const auto size = static_cast<std::int64_t>(parts.size());
  for (std::int64_t rank = 0; rank < size; ++rank)
    shares.push_back(parts[static_cast<std::size_t>(rank)].narrow(0, 0, rows / size + (rank < rows % size ? 1 : 0)));
  return at::cat(shares);
}

}  // namespace

RowShare ComputeRowShare(std::int64_t rows, const Collective& gang) {
  const std::int64_t size = gang.size(), rank = gang.rank().value, least = rows / size, larger = rows % size;
  return {rank * least + std::min(rank, larger), least + (rank < larger ? 1 : 0)};
}

Result<at::Tensor> AllGatherRows(const at::Tensor& own, std::int64_t rows, Collective& gang) {
  if (gang.size() == 1) return own;
  RETORT_ASSIGN_OR_RETURN(const std::vector<at::Tensor> parts, gang.AllGather(Padded(own, Largest(rows, gang))));
  return Joined(parts, rows);
}

Result<at::Tensor> GatherRowsToRoot(const at::Tensor& own, std::int64_t rows, Collective& gang) {
  if (gang.size() == 1) return own;
  RETORT_ASSIGN_OR_RETURN(const std::vector<at::Tensor> parts,
                          gang.Gather(Padded(own, Largest(rows, gang)), GangRank{0}));
  return parts.empty() ? at::Tensor() : Joined(parts, rows);
}

Result<at::Tensor> BroadcastFromRoot(const at::Tensor& value, Collective& gang) {
  if (gang.size() == 1) return value;
  const bool root = gang.rank().value == 0;
  // Type, number of dimensions, dimensions.
  at::Tensor header = at::zeros({2 + kMaxDimensions}, at::kLong);
  auto* fields = header.data_ptr<std::int64_t>();
  if (root) {
    RETORT_CHECK(value.dim() <= kMaxDimensions);
    const auto* type = std::find(std::begin(kTypes), std::end(kTypes), value.scalar_type());
    RETORT_CHECK(type != std::end(kTypes));
    fields[0] = type - std::begin(kTypes);
    fields[1] = value.dim();
    std::copy(value.sizes().begin(), value.sizes().end(), fields + 2);
  }
  RETORT_RETURN_IF_ERROR(gang.Broadcast(header, GangRank{0}));
  const std::vector<std::int64_t> shape(fields + 2, fields + 2 + fields[1]);
  at::Tensor received = root ? value.contiguous() : at::empty(shape, kTypes[fields[0]]);
  if (received.numel() > 0) RETORT_RETURN_IF_ERROR(gang.Broadcast(received, GangRank{0}));
  return received;
}

Status SumOverGang(std::vector<double>& values, Collective& gang) {
  if (gang.size() == 1) return {};
  at::Tensor sums = at::tensor(values, at::kDouble);
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(sums));
  std::copy_n(sums.const_data_ptr<double>(), values.size(), values.begin());
  return {};
}

}  // namespace retort::worker
