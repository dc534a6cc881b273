#include "worker/training/shards.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "storage/datasets/clients.h"
#include "worker/models/ensemble.h"

namespace retort::worker {

namespace {

std::vector<std::int64_t> CopyLabels(const Examples& examples) {
  const at::Tensor labels = examples.labels.cpu().contiguous();
  const auto* label = labels.const_data_ptr<std::int64_t>();
  return {label, label + labels.numel()};
}

}  // namespace

bool IsPartitionedByIndex(const TrialSpec& ensemble) { return ensemble.shards.partition == Partition::shards; }

Result<Shards> AssignShards(const TrialSpec& ensemble, const Dataset& data) {
  const std::int64_t examples = data.train.size(), members = ensemble.members;
  const std::int64_t needed = IsPartitionedByIndex(ensemble) ? members : members * kMinDirichletExamples;
  if (examples < needed) {
    return UsageError(std::to_string(members) + " members need " + std::to_string(needed) +
                      " training examples at least; there are " + std::to_string(examples) + ".");
  }
  Shards shards;
  if (IsPartitionedByIndex(ensemble)) {
    for (const at::Tensor& shard : MakeDisjointShards(examples, members).unbind()) shards.push_back(shard.clone());
  } else {
    RETORT_ASSIGN_OR_RETURN(
        const storage::Clients clients,
        storage::MakeBalancedClients(CopyLabels(data.train), data.classes, members, ensemble.shards.dirichlet_alpha,
                                     ensemble.seed, kMinDirichletExamples));
    for (const std::vector<std::int64_t>& client : clients) shards.push_back(at::tensor(client, at::kLong));
  }
  RETORT_RETURN_IF_ERROR(CheckDisjoint(at::cat(shards), examples));
  return shards;
}

namespace {

constexpr std::int64_t kMinClientExamples = 10;

}  // namespace

Result<std::vector<at::Tensor>> AssignClientRows(const at::Tensor& labels, std::int64_t classes, std::int64_t clients,
                                                 double concentration, std::uint64_t seed) {
  const at::Tensor own = labels.cpu().contiguous();
  const auto* label = own.const_data_ptr<std::int64_t>();
  if (own.numel() < clients)
    return UsageError(std::to_string(clients) + " clients need as many private examples; there are " +
                      std::to_string(own.numel()) + ".");
  const std::int64_t least = std::clamp<std::int64_t>(own.numel() / (2 * clients), 1, kMinClientExamples);
  RETORT_ASSIGN_OR_RETURN(
      const storage::Clients drawn,
      storage::MakeBalancedClients({label, label + own.numel()}, classes, clients, concentration, seed, least));
  std::vector<at::Tensor> rows;
  for (const std::vector<std::int64_t>& client : drawn) rows.push_back(at::tensor(client, at::kLong));
  return rows;
}

}  // namespace retort::worker
