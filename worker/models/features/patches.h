// Features of small patches, compared with filters that were learnt from public images (Coates and Ng 2012).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

// A patch p of n values with mean m and variance v is seen by filter k as (filters_k . p) / sqrt(v + 0.01)
// - offset_k; its mean, and the whitening of all patches, are in the filter.
struct PatchFilters {
  at::Tensor filters;  // f32 [count, channels, extent, extent]; each sums to 0
  at::Tensor offset;   // f32 [count]
};

inline constexpr double kPatchFloor = 0.01;  // added to the variance of a patch, in pixels of unit deviation

// Learnt from patches of `pictures` f32 [n, channels, height, width] of about unit deviation: contrast normalised,
// whitened (ZCA, 0.1 added to every variance), `count` directions by spherical k-means, a direction and its opposite
// being one. A function of its arguments alone.
[[nodiscard]] PatchFilters FitPatchFilters(const at::Tensor& pictures, std::int64_t count, std::int64_t extent);

// Of every filter how strongly it is met, and how strongly its opposite is, beyond `threshold`, on average over each
// quarter of the image: f32 [rows, channels, height, width] -> [rows, 2 * count * 4] of norm 1. Of three channels the
// mean with the mirrored image. Part of the graph.
[[nodiscard]] at::Tensor ComputePatchFeatures(const at::Tensor& images, const at::Tensor& filters,
                                              const at::Tensor& offset, double threshold);

}  // namespace retort::worker
