// Pictures that look alike, joined: along the edges released labels spread (Zhou et al. 2004), and its leading
// eigenvectors tell apart what few edges join (Belkin and Niyogi 2003). A function of public pictures alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace retort::worker {

// A neighbour's weight by the cosine c of two pictures' features: exp(20 (c - 1)).
inline constexpr double kNeighbourSharpness = 20;

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

  // An orthonormal basis of what the `count` eigenvectors of A with the largest eigenvalues span, f32 [rows, count] on the
  // CPU, 1 <= count <= rows. By subspace iteration with a Chebyshev filter (Zhou and Saad 2007), until the sum of the
  // eigenvalues grows by less than 1e-6 of `count` in a turn of 8 products; of eigenvalues that are as good as equal, which
  // direction comes first is not told.
  [[nodiscard]] at::Tensor Leading(std::int64_t count) const;

 private:
  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  // A x, f64 [rows, columns] -> the same, both on the CPU and contiguous.
  [[nodiscard]] at::Tensor Times(const at::Tensor& x) const;
  [[nodiscard]] at::Tensor Filtered(const at::Tensor& x, double cut) const;

  // Row r's ends are places [starts_[r], starts_[r + 1]) of the others.
  std::vector<std::int64_t> starts_, ends_;
  std::vector<double> weights_;
};

}  // namespace retort::worker
