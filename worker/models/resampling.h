// Planes made larger, smaller or given a border. ATen's CUDA kernels add up the gradients of these in an
// order of chance, which deterministic algorithms refuse; on CUDA devices they are taken apart into steps
// that do not.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace retort::worker {

// All take float [rows, channels, height, width], and are part of the graph.

// Twice as high and wide, bilinear between pixels, the corners where they were.
[[nodiscard]] at::Tensor DoubleBilinear(const at::Tensor& planes);
// Means of `height` x `width` windows that cover the planes; those of a side that they do not divide overlap.
[[nodiscard]] at::Tensor PoolTo(const at::Tensor& planes, std::int64_t height, std::int64_t width);
// Returns the outermost pixels repeated: `border` of them on the left, on the right, above and below.
[[nodiscard]] at::Tensor RepeatBorder(const at::Tensor& planes, const std::array<std::int64_t, 4>& border);

// As on CUDA devices, on any.
namespace step_by_step {
[[nodiscard]] at::Tensor DoubleBilinear(const at::Tensor& planes);
[[nodiscard]] at::Tensor PoolTo(const at::Tensor& planes, std::int64_t height, std::int64_t width);
[[nodiscard]] at::Tensor RepeatBorder(const at::Tensor& planes, const std::array<std::int64_t, 4>& border);
}  // namespace step_by_step

}  // namespace retort::worker
