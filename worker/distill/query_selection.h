// Which public images a student asks about next (RONA, AAAI-19, Algorithm 3 and Fig. 2e): chosen by the
// student's own predictions. Each selection returns i64 [count], on the CPU, of distinct rows, in the order of choice;
// ties go to the lower row. Computed in float64, so that devices that round otherwise choose the same rows. n rows, c
// classes; count is at most n less the rows of `asked`.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "experiments/methods/trial_spec.h"

namespace retort::worker {

// Clusters points by Lloyd's algorithm from k-means++ centres: the cluster 0..k-1 of each row of `points` [n, d] on the
// CPU, 1 <= k <= n (n = 0: none). At most 50 rounds; clusters may be empty. Depends on points, k and stream alone.
[[nodiscard]] std::vector<std::int64_t> ComputeKMeansClusters(const at::Tensor& points, std::int64_t k,
                                                              const RngStream& stream);

[[nodiscard]] at::Tensor DrawRandomQueries(std::int64_t n, std::int64_t count, const RngStream& stream);

// Greedy k-centre: each time the row whose least KL(p_row || p_chosen) is largest. Rows of `asked` (i64, distinct) are
// centres from the start and not chosen again; without any, the stream draws the first centre. `log_p` f32 [n, c]:
// logarithms of the student's probabilities at the temperature. O(n c (count + asked)), on one thread.
[[nodiscard]] at::Tensor SelectKCentreQueries(const at::Tensor& log_p, std::int64_t count, const RngStream& stream,
                                              const std::vector<std::int64_t>& asked = {});

// The rows with the least difference of the two largest of `probabilities` [n, c], least first.
[[nodiscard]] at::Tensor SelectMarginQueries(const at::Tensor& probabilities, std::int64_t count);

// By margin, too, but from each of min(c, n) clusters (k-means of the columns of exp(log_p), each of unit variance) no
// more than its share of all rows; places that are left go to the least margins left.
[[nodiscard]] at::Tensor SelectDiverseQueries(const at::Tensor& probabilities, const at::Tensor& log_p,
                                              std::int64_t count, const RngStream& stream);

// The second half of it. `ranked` i64 [n]: all rows, best first; `cluster` of each row, 0, 1, ...
[[nodiscard]] std::vector<std::int64_t> SpreadOverClusters(const std::vector<std::int64_t>& ranked,
                                                           const std::vector<std::int64_t>& cluster,
                                                           std::int64_t count);

// By `selection`, from the student's `logits` f32 [n, c] on all n images at `temperature` (margins: at 1), of those
// that are not in `asked`.
[[nodiscard]] at::Tensor SelectQueries(Selection selection, const at::Tensor& logits, double temperature,
                                       std::int64_t count, const RngStream& stream,
                                       const std::vector<std::int64_t>& asked = {});

}  // namespace retort::worker
