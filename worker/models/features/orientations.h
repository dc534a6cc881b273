// Histograms of gradient orientations (Dalal and Triggs 2005), signed, of soft bins: nothing is fitted for them. Also
// what other features share with them.
#pragma once

#include <ATen/TracerMode.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace retort::worker {

// Windows of `window` pixels a side, `stride` apart, that begin `padding` pixels outside the image; each pixel's weight
// falls linearly from the window's middle. `bins` cover the whole circle.
struct OrientationForm {
  std::int64_t bins = 8, window = 8, stride = 4, padding = 2;
  double norm = 1;  // L2 norm of an image's features
};

// Returns the square root of what each window holds of each orientation: f32 [rows, channels, height, width] ->
// [rows, channels * bins * windows down * windows across], in that order. Three channels are taken for red, green and
// blue, and seen in opponent colours. Gradients are central differences, the border repeated; one that lies between
// two bins is shared by them. Adding a constant to an image, or scaling it, changes nothing. Part of the graph.
[[nodiscard]] at::Tensor ComputeOrientationFeatures(const at::Tensor& images, const OrientationForm& form);

// Below it a sum of squares counts as this: what is nothing has no gradient.
inline constexpr double kMinSquare = 1e-12;

// What a pixel counts in each window along one side: f32 [pixels, windows].
[[nodiscard]] at::Tensor ComputeWindowWeights(std::int64_t pixels, const OrientationForm& form,
                                              at::Device device = at::kCPU);

// (r - g) / sqrt 2, (r + g - 2 b) / sqrt 6, (r + g + b) / sqrt 3 of [rows, 3, height, width].
[[nodiscard]] at::Tensor ComputeOpponentColours(const at::Tensor& images);

// As at::sqrt, rounded alike on every device, which the CPU's is not.
[[nodiscard]] at::Tensor ComputeRoot(const at::Tensor& values);

// rows / |row| * norm; a row of zeros stays.
[[nodiscard]] at::Tensor NormaliseRows(const at::Tensor& rows, double norm);

// Applies `work` to the rows of `images`, about `pixels` values at a time, so that intermediate results stay in a
// processor's cache. Rows do not see each other.
template <typename Work>
[[nodiscard]] at::Tensor ComputeInParts(const at::Tensor& images, std::int64_t pixels, const Work& work) {
  const std::int64_t rows = images.size(0), values = images.size(1) * images.size(2) * images.size(3);
  const std::int64_t at_once = images.is_cpu() ? std::max<std::int64_t>(pixels / values, 1) : rows;
  // What TorchScript records has to hold for any number of rows.
  if (rows <= at_once || at::tracer::impl::is_dispatch_enabled()) return work(images);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < rows; first += at_once)
    parts.push_back(work(images.narrow(0, first, std::min(at_once, rows - first))));
  return at::cat(parts);
}

}  // namespace retort::worker
