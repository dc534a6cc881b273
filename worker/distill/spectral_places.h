// Where a picture lies among others, by those that it is most like.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

// The out-of-sample extension of a graph's leading eigenvectors (Bengio et al. 2004): of each row of `features` f32
// [rows, values] the mean of the rows of `basis` f32 [others, coordinates] that belong to its `neighbours` nearest rows of
// `others` f32 [others, values], weighted as NeighbourGraph weights them, and then to norm 1: f32 [rows, coordinates] on the
// CPU, of norm 1 or 0. A row depends on no other row of `features`. Fewer others than `neighbours` all count; rows of
// zeros lie nowhere. A feature that is not finite makes its own row not finite, or zeros.
[[nodiscard]] at::Tensor PlacesAmong(const at::Tensor& features, const at::Tensor& others, const at::Tensor& basis,
                                     std::int64_t neighbours);

}  // namespace retort::worker
