// How the members of an ensemble, or the clients of a federation, share the private examples.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/data/dataset.h"

namespace retort::worker {

// For each member the rows of its private examples, i64 [n], rising. No example is in two.
using Shards = std::vector<at::Tensor>;

// The shards that the keys of an ensemble ask for. partition = shards: equal shards by index (MakeDisjointShards),
// whatever the examples are. dirichlet: storage::MakeBalancedClients of the private labels, drawn with the seed. Which
// examples a member holds then depends on the labels of all of them: an example with another label can move others
// between members, so that it changes more than its own. Error: usage, when there are fewer examples than members need.
[[nodiscard]] Result<Shards> AssignShards(const TrialSpec& ensemble, const Dataset& data);

// Whether indices alone decide which member holds which example, so that a changed example changes its own shard alone.
[[nodiscard]] bool IsPartitionedByIndex(const TrialSpec& ensemble);

// For each client of federated learning the rows of its examples, rising: i64 [its examples] on the CPU; together every
// row once. As storage::MakeBalancedClients shares them out, each client with ten examples at least, or half an equal
// share where that is less. labels i64 [n]. Error: usage, for fewer examples than clients, and where no division gives
// all that many.
[[nodiscard]] Result<std::vector<at::Tensor>> AssignClientRows(const at::Tensor& labels, std::int64_t classes,
                                                               std::int64_t clients, double concentration,
                                                               std::uint64_t seed);

}  // namespace retort::worker
