// The Fréchet distance of two sets of features.
#pragma once

#include <ATen/core/Tensor.h>

namespace retort::worker {

// |m - n|^2 + tr(S + T - 2 (S T)^(1/2)), the squared Fréchet distance (Dowson and Landau 1982) between the normal
// distributions that have the means m, n and the unbiased covariances S, T of two sets of features; FID (Heusel et al.
// 2017) is this number for the features of one Inception network, and not comparable with that of another network.
// Features f32 or f64 [rows, values], at least two rows each, as many values in both, on any device. Computed in double
// on the CPU, without the square root of a matrix that is not symmetric, so that sets with fewer rows than values,
// whose covariances are singular, are as good as others. At least 0; NaN where a feature is not finite. A function of
// its arguments alone, but for the last digits the same in either order and in any order of the rows. Work: values^3 +
// rows values^2, or rows^2 values where that is less.
[[nodiscard]] double ComputeFrechetDistance(const at::Tensor& features, const at::Tensor& others);

}  // namespace retort::worker
