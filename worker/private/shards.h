// How the members of an ensemble share the private examples.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "worker/data/dataset.h"

namespace retort::worker {

// One a member: rows of its private examples, i64 [n], rising. No example stands in two.
using Shards = std::vector<at::Tensor>;

// As the keys of an ensemble say. partition = shards: equal shards by index (DisjointShards), whatever the examples
// are. dirichlet: storage::BalancedClients of the private labels, drawn with the seed. Which examples a member
// holds then depends on the labels of all of them: an example with another label can move others between members,
// so that it changes more than its own. Error: usage, when there are fewer examples than members need.
[[nodiscard]] Result<Shards> ShardsOf(const TrialSpec& ensemble, const Dataset& data);

// Do indices alone decide who holds which example, so that a changed one changes its own shard alone?
[[nodiscard]] bool FixedByIndex(const TrialSpec& ensemble);

}  // namespace retort::worker
