// Images turned, scaled, sheared, moved and bent at random, each by its own map. Computed on the CPU: the same bits
// on every device, whatever the gang, the threads and the rows beside it.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

#include "experiments/base/rng_stream.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

// Where an image goes: about its centre, sheared (x += shear * y), scaled, turned clockwise, then moved.
struct AffineMove {
  double angle = 0;  // radians
  double scale = 1;
  double shear = 0;
  double down = 0, right = 0;  // px
};

// From where the pixels of an image are taken besides, px: kFieldNodes x kFieldNodes displacements on a grid of a
// node every quarter of a side, from one node before the image on; bicubic (Catmull-Rom) between them. Default: none.
inline constexpr std::int64_t kFieldNodes = 7;
struct DisplacementField {
  using Nodes = std::array<float, static_cast<std::size_t>(kFieldNodes* kFieldNodes)>;
  Nodes down{}, right{};
};

struct WarpRanges {
  double degrees = 15;  // turned by up to so much either way, uniform; so are the next three
  double scale = 0.15, shear = 0.15;
  double reach = 0;  // px, along each axis
  double field = 0;  // deviation of a node's displacement, N(0, field^2), over the image's side
};

// Simard, Steinkraus and Platt 2003: 1.2 px at 28 pixels a side; about their alpha = 34, sigma = 4.
inline constexpr double kElasticField = 1.2 / 28;

// Draws 0 to 4 of a row's lane.
[[nodiscard]] AffineMove DrawAffineMove(const WarpRanges& ranges, const RngStream& lane);
// Draws from 16 on of a row's lane, for images of height x width pixels.
[[nodiscard]] DisplacementField DrawDisplacementField(double field, std::int64_t height, std::int64_t width,
                                                      const RngStream& lane);

// images f32 [n, C, H, W], any device: every image by `move` and `field`, one bilinear resampling for both; what
// moves in is black[c] of its channel, f32 [C] on the CPU. A move and a field of nothing return the same values.
[[nodiscard]] at::Tensor WarpImages(const at::Tensor& images, const AffineMove& move, const DisplacementField& field,
                                    const at::Tensor& black);
// Each image by its own DrawAffineMove and, where ranges.field > 0, DrawDisplacementField.
[[nodiscard]] at::Tensor WarpAtRandom(const at::Tensor& images, const WarpRanges& ranges, const at::Tensor& black,
                                      const RowStream& rows);

}  // namespace retort::worker
