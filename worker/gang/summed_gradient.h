// Gradients summed over a gang while they are computed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/base/status.h"
#include "worker/gang/collective.h"
#include "worker/models/arenas.h"

namespace retort::worker {

inline constexpr std::int64_t kBucketFloats = std::int64_t{1} << 20;  // 4 MiB

// A leaf that this member alone holds, and after SumGradients what the same sum differentiated by it is, of this
// member's outputs; undefined where they do not reach it.
struct OwnLeaf {
  at::Tensor leaf, gradient = {};
};

// parameters.gradient() becomes the sum over the gang of sum_k <seeds[k], outputs[k]> differentiated by the
// parameters; the same bits on every member. It is cut into buckets of whole parameters, at least
// `bucket_floats` long, from its end; each is summed (f32) as soon as its part is known, while the backward
// pass goes on. A member without rows passes no outputs and contributes zeros. A gang of one sums nothing. `own`:
// not null, its gradient is filled in the same pass.
[[nodiscard]] Status SumGradients(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& seeds,
                                  ParameterArena& parameters, Collective& gang,
                                  std::int64_t bucket_floats = kBucketFloats, OwnLeaf* own = nullptr);

}  // namespace retort::worker
