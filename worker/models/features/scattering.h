// The scattering transform (Bruna and Mallat 2013): two scales, two orders, averaged over about four pixels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

inline constexpr std::int64_t kScatteringStride = 4;
inline constexpr std::int64_t kScatteringBorder = 4;  // pixels that are repeated around the image, and one more
                                                      // behind an odd number of them

// The transforms of the Morlet wavelets of scale 2^scale, which are real: f32 [orientations, height, width] for
// images of that height and width, border included.
struct PlaneExtents {
  std::int64_t height = 0, width = 0;
};
[[nodiscard]] at::Tensor MakeScatteringWavelets(PlaneExtents plane, int scale, std::int64_t orientations,
                                                at::Device device);

// How much each sample, `apart` pixels from the next, counts at each place along one side: f32 [places, samples].
[[nodiscard]] at::Tensor ComputeScatteringAverages(std::int64_t places, std::int64_t samples, std::int64_t apart,
                                                   at::Device device);

// How many values a channel has at each place: 1 + 2 * orientations + orientations^2.
[[nodiscard]] constexpr std::int64_t CountScatteringPaths(std::int64_t orientations) {
  return 1 + 2 * orientations + orientations * orientations;
}

// Returns the mean, the moduli |x * psi| of Morlet wavelets of both scales, and the moduli of the finer ones' moduli at
// the coarser scale, each averaged by a Gaussian around every fourth pixel: f32 [rows, channels, height, width] ->
// [rows, channels * paths * ceil(height / 4) * ceil(width / 4)] of norm 1. Three channels are seen in opponent colours.
// Borders are repeated. Part of the graph.
[[nodiscard]] at::Tensor ComputeScatteringFeatures(const at::Tensor& images, std::int64_t orientations);

}  // namespace retort::worker
