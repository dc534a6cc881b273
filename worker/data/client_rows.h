// Private examples as clients of federated learning hold them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::worker {

// Of each client the rows of its examples, rising: i64 [its examples] on the CPU; together every row once. As
// storage::BalancedClients shares them out, each client with ten examples at least, or half an equal share where that
// is less. labels i64 [n]. Error: usage, for fewer examples than clients, and where no division gives all that many.
[[nodiscard]] Result<std::vector<at::Tensor>> ClientRows(const at::Tensor& labels, std::int64_t classes,
                                                         std::int64_t clients, double concentration,
                                                         std::uint64_t seed);

}  // namespace retort::worker
