// Whitening: directions in which images differ little are stretched.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

// Learnt from public images.
struct Whitening {
  at::Tensor mean;        // f32 [values]
  at::Tensor components;  // f32 [kept, values]: the directions of most variance, each over the root of what it has
};

// Of `samples` f32 [rows, values]: centred, each row to norm 1, the `kept` directions of most energy e, scaled by
// 1 / sqrt(e + shrink * their mean). A function of its arguments alone; kept <= values.
[[nodiscard]] Whitening FitWhitening(const at::Tensor& samples, std::int64_t kept, double shrink);

// rows f32 [rows, values] centred, to norm 1, onto the components, to norm 1, and behind them the constant `bias`:
// [rows, kept + 1]. A linear layer behind needs no bias of its own, and every row has the same norm.
[[nodiscard]] at::Tensor WhitenRows(const at::Tensor& rows, const at::Tensor& mean, const at::Tensor& components,
                                    double bias);

}  // namespace retort::worker
