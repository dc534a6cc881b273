// Clusters of points, by Lloyd's algorithm from k-means++ centres.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/spec/rng_stream.h"

namespace retort::worker {

// The cluster 0..k-1 of each row of `points` f32 [n, d] on the CPU, 1 <= k <= n (n = 0: none). At most 50 rounds;
// clusters may be empty. Depends on points, k and stream alone.
[[nodiscard]] std::vector<std::int64_t> KMeansClusters(const at::Tensor& points, std::int64_t k,
                                                       const RngStream& stream);

}  // namespace retort::worker
