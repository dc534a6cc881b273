// How far generated images are from the released embedding of the private ones, and the gradient at their features.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/status.h"
#include "worker/gang/collective.h"

namespace retort::worker {

struct EmbeddingGradient {
  at::Tensor features;  // d loss / d features [own rows, d]
  double loss = 0;      // of the whole batch
};

// loss = |target - sum_i onehot(y_i) phi_i / rows|^2 over a batch of `rows`, of which these are this member's:
// features f32 [own rows, d], labels i64 [own rows]; target f32 [classes, d]. Error: of the gang.
[[nodiscard]] Result<EmbeddingGradient> MatchEmbedding(const at::Tensor& features, const at::Tensor& labels,
                                                       const at::Tensor& target, std::int64_t rows,
                                                       Collective& gang);

}  // namespace retort::worker
