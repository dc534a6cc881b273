// Kernel mean embeddings by random Fourier features (Rahimi and Recht 2007), whose inner products approximate a
// Gaussian kernel, and the loss that brings generated images to a released embedding.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/base/status.h"
#include "worker/gang/collective.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

// phi(x) = [cos(W x), sin(W x)] / sqrt(m) with m frequencies W_i ~ N(0, I / s^2): |phi(x)| = 1, and
// <phi(x), phi(y)> approximates exp(-|x - y|^2 / (2 s^2)) with standard deviation 1 / sqrt(2 m) at most.
class RandomFeatures {
 public:
  // `features` = 2 m, even; `inputs`: values of one x; `bandwidth` s^2 > 0, in squared units of x. The same
  // frequencies on every device.
  RandomFeatures(std::int64_t features, std::int64_t inputs, double bandwidth, const RngStream& stream,
                 at::Device device = at::kCPU);
  // x f32 [rows, ...] -> [rows, features]; part of the graph to x.
  [[nodiscard]] at::Tensor Of(const at::Tensor& x) const;
  [[nodiscard]] std::int64_t features() const { return 2 * frequencies_.size(0); }

 private:
  at::Tensor frequencies_;  // f32 [m, inputs]
};

// The distance of generated images from the released embedding of the private ones, with its gradient at their
// features.
struct EmbeddingGradient {
  at::Tensor features;  // d loss / d features [own rows, d]
  double loss = 0;      // of the whole batch
};

// loss = |target - sum_i onehot(y_i) phi_i / rows|^2 over a batch of `rows`, of which these are this member's:
// features f32 [own rows, d], labels i64 [own rows]; target f32 [classes, d]. Error: of the gang.
[[nodiscard]] Result<EmbeddingGradient> MatchEmbedding(const at::Tensor& features, const at::Tensor& labels,
                                                       const at::Tensor& target, std::int64_t rows, Collective& gang);

}  // namespace retort::worker
