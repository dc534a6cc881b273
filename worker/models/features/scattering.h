// The scattering transform (Bruna and Mallat 2013): two scales, two orders, averaged over about four pixels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

inline constexpr std::int64_t kScatteringStride = 4;

// How many values a channel has at each place: 1 + 2 * orientations + orientations^2.
[[nodiscard]] constexpr std::int64_t ScatteringPaths(std::int64_t orientations) {
  return 1 + 2 * orientations + orientations * orientations;
}

// Returns the mean, the moduli |x * psi| of Morlet wavelets of both scales, and the moduli of the finer ones' moduli at
// the coarser scale, each averaged by a Gaussian around every fourth pixel: f32 [rows, channels, height, width] ->
// [rows, channels * paths * ceil(height / 4) * ceil(width / 4)] of norm 1. Three channels are seen in opponent colours.
// Borders are repeated. Part of the graph.
[[nodiscard]] at::Tensor ScatteringFeatures(const at::Tensor& images, std::int64_t orientations);

}  // namespace retort::worker
