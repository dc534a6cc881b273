// Ridge regression on features, in closed form.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

// W of least |X W^T - Y|^2 + strength |W|^2: f32 [outputs, values], on the CPU. features f32 [rows, values] and targets
// [rows, outputs], rows >= 1; strength > 0. Solved in double by the smaller of the two systems, of rows or of values. A
// function of its arguments alone. Zeros where a strength so small, or a value that is not finite, leaves nothing to
// solve.
[[nodiscard]] at::Tensor FitRidgeMap(const at::Tensor& features, const at::Tensor& targets, double strength);

// The same for labels i64 [rows] in [0, classes): Y is one-hot less 1 / classes.
[[nodiscard]] at::Tensor FitRidgeHead(const at::Tensor& features, const at::Tensor& labels, std::int64_t classes,
                                      double strength);

}  // namespace retort::worker
