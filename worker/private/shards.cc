#include "worker/private/shards.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <string>

#include "storage/data/clients.h"
#include "worker/models/ensemble.h"

namespace retort::worker {
namespace {

std::vector<std::int64_t> LabelsOf(const Examples& examples) {
  const at::Tensor labels = examples.labels.cpu().contiguous();
  const auto* label = labels.const_data_ptr<std::int64_t>();
  return {label, label + labels.numel()};
}

}  // namespace

bool FixedByIndex(const TrialSpec& ensemble) { return ensemble.partition == Partition::shards; }

Result<Shards> ShardsOf(const TrialSpec& ensemble, const Dataset& data) {
  const std::int64_t examples = data.train.size(), members = ensemble.members;
  const std::int64_t needed = FixedByIndex(ensemble) ? members : members * kFewestOfDirichletMember;
  if (examples < needed) {
    return UsageError(std::to_string(members) + " members need " + std::to_string(needed) +
                      " training examples at least; there are " + std::to_string(examples) + ".");
  }
  Shards shards;
  if (FixedByIndex(ensemble)) {
    for (const at::Tensor& shard : DisjointShards(examples, members).unbind()) shards.push_back(shard.clone());
  } else {
    RETORT_ASSIGN_OR_RETURN(const storage::Clients clients,
                            storage::BalancedClients(LabelsOf(data.train), data.classes, members,
                                                     ensemble.dirichlet_alpha, ensemble.seed, kFewestOfDirichletMember));
    for (const std::vector<std::int64_t>& client : clients) shards.push_back(at::tensor(client, at::kLong));
  }
  RETORT_RETURN_IF_ERROR(CheckDisjoint(at::cat(shards), examples));
  return shards;
}

}  // namespace retort::worker
