// Private examples as clients of federated learning hold them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::worker {

// Of each client the rows of its examples, rising: i64 [its examples] on the CPU; together every row once. By one draw
// of Dirichlet(concentration) a class (storage::DirichletClients), drawn anew until each client has ten examples, or
// half an equal share where that is less. labels i64 [n]. Error: usage, for fewer examples than clients, and where a
// thousand draws leave a client with too few.
[[nodiscard]] Result<std::vector<at::Tensor>> ClientRows(const at::Tensor& labels, std::int64_t classes,
                                                         std::int64_t clients, double concentration,
                                                         std::uint64_t seed);

}  // namespace retort::worker
