// Released labels, spread over pictures that look alike (Zhou et al. 2004): post-processing of what was released, on
// pictures that are public.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace retort::worker {

// Each row joined with its `neighbours` nearest others by the cosine c of their features, weight exp(20 (c - 1)), in
// both directions; weights over the roots of both ends' sums.
class NeighbourGraph {
 public:
  // features f32 [rows, values], on any device; rows of zeros are joined with nobody. neighbours >= 1; fewer rows than
  // that join all. A function of its arguments alone; of equal cosines the earlier row is the nearer.
  NeighbourGraph(const at::Tensor& features, std::int64_t neighbours);

  // (1 - share) (I - share A)^-1 labels, A the graph's weights: f32 [rows, classes] -> the same, on the labels' device.
  // 0 <= share < 1. In double, until the residual is 1e-8 of the labels.
  [[nodiscard]] at::Tensor Propagated(const at::Tensor& labels, double share) const;

 private:
  // Row r's ends are places [starts_[r], starts_[r + 1]) of the others.
  std::vector<std::int64_t> starts_, ends_;
  std::vector<double> weights_;
};

}  // namespace retort::worker
