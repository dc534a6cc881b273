// Images drawn by a procedure: strokes, blobs, dead leaves, 1/f noise. Nothing in them comes from data, though
// strokes imitate writing; a row of results names them where it rests on them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "worker/tensors/rng_streams.h"

namespace retort::worker {

enum class ProceduralKind : std::uint8_t {
  strokes,      // 1 to 3 smooth curves with corners in one centred box
  blobs,        // a smooth field cut at a level, inside a soft disc
  dead_leaves,  // discs and rectangles that hide each other, radii by a power law (Lee, Mumford and Huang 2001)
  noise,        // Gaussian noise of spectrum 1/f^a, colours correlated
};

// f32 [count, channels, side, side] in [0, 1], on the CPU. Lengths grow with the side: they are those of 28 pixels
// there. Image i is a function of rows.Lane(i) alone. count >= 0, channels >= 1, side >= 8. Strokes and blobs are the
// same in every channel.
[[nodiscard]] at::Tensor DrawProceduralImages(ProceduralKind kind, std::int64_t count, std::int64_t channels,
                                              std::int64_t side, const RowStream& rows);

}  // namespace retort::worker
