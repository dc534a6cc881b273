// Histograms of gradient orientations (Dalal and Triggs 2005), signed, of soft bins: nothing is fitted for them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

// Windows of `window` pixels a side, `stride` apart, that begin `padding` pixels outside the image; each pixel's weight
// falls linearly from the window's middle. `bins` cover the whole circle.
struct OrientationForm {
  std::int64_t bins = 8, window = 8, stride = 4, padding = 2;
  double norm = 1;  // L2 norm of an image's features
};

// The square root of what each window holds of each orientation: f32 [rows, channels, height, width] ->
// [rows, channels * bins * windows down * windows across], in that order. Three channels are taken for red, green and
// blue, and seen in opponent colours. Gradients are central differences, the border repeated; one that lies between
// two bins is shared by them. Adding a constant to an image, or scaling it, changes nothing. Part of the graph.
[[nodiscard]] at::Tensor OrientationFeatures(const at::Tensor& images, const OrientationForm& form);

// (r - g) / sqrt 2, (r + g - 2 b) / sqrt 6, (r + g + b) / sqrt 3 of [rows, 3, height, width].
[[nodiscard]] at::Tensor OpponentColours(const at::Tensor& images);

// As at::sqrt, rounded alike on every device, which the CPU's is not.
[[nodiscard]] at::Tensor Root(const at::Tensor& values);

// rows / |row| * norm; a row of zeros stays.
[[nodiscard]] at::Tensor RowsOfNorm(const at::Tensor& rows, double norm);

}  // namespace retort::worker
