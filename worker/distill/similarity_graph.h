// A graph of images that look alike. Released labels are spread along its edges (Zhou et al. 2004), and its leading
// eigenvectors separate groups that few edges connect (Belkin and Niyogi 2003). A function of public images alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace retort::worker {

// The weight of an edge between images whose features have cosine c is exp(20 (c - 1)).
inline constexpr double kSimilaritySharpness = 20;

// Each row joined with its `neighbours` nearest others by the cosine c of their features, weight exp(20 (c - 1)), in
// both directions; weights over the roots of both ends' sums.
class SimilarityGraph {
 public:
  // features f32 [rows, values], on any device; rows of zeros have no edges. neighbours >= 1; with fewer rows than
  // that all are connected. A function of its arguments alone; of equal cosines the earlier row is the nearer.
  SimilarityGraph(const at::Tensor& features, std::int64_t neighbours);

  // (1 - share) (I - share A)^-1 labels, A the graph's weights: f32 [rows, classes] -> the same, on the labels' device.
  // 0 <= share < 1. In double, until the residual is 1e-8 of the labels.
  [[nodiscard]] at::Tensor PropagateLabels(const at::Tensor& labels, double share) const;

  // An orthonormal basis of what the `count` eigenvectors of A with the largest eigenvalues span, f32 [rows, count] on
  // the CPU, 1 <= count <= rows. By subspace iteration with a Chebyshev filter (Zhou and Saad 2007), until the sum of
  // the eigenvalues grows by less than 1e-6 of `count` in a turn of 8 products; the order of eigenvalues that are equal
  // within that is not defined.
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

// The out-of-sample extension of a graph's leading eigenvectors (Bengio et al. 2004): of each row of `features` f32
// [rows, values] the mean of the rows of `basis` f32 [others, coordinates] that belong to its `neighbours` nearest rows
// of `others` f32 [others, values], weighted as SimilarityGraph weights them, and then to norm 1: f32 [rows,
// coordinates] on the CPU, of norm 1 or 0. A row depends on no other row of `features`. Fewer others than `neighbours`
// all count; rows of zeros stay zeros. A feature that is not finite makes its own row not finite, or zeros.
[[nodiscard]] at::Tensor ExtendSpectralEmbedding(const at::Tensor& features, const at::Tensor& others,
                                                 const at::Tensor& basis, std::int64_t neighbours);

}  // namespace retort::worker
