#include "worker/models/features/fitting_pictures.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <algorithm>

#include "worker/distill/procedural_pictures.h"
#include "worker/rng_streams.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kLeastSide = 8;  // that is drawn
constexpr std::uint64_t kPicturesKey = 0x70696374757265;  // public: the same for everybody

}  // namespace

at::Tensor FittingPictures(std::int64_t count, const ImageShape& shape) {
  const std::int64_t side = std::max({shape.height, shape.width, kLeastSide});
  const RngStream stream(kPicturesKey);
  const auto drawn = [&](ProceduralKind kind, std::int64_t of_these) {
    return ProceduralPictures(kind, of_these, shape.channels, side, stream.Lane(static_cast<std::uint64_t>(kind)));
  };
  at::Tensor pictures = shape.channels == 1
                            ? drawn(ProceduralKind::strokes, count)
                            : at::cat({drawn(ProceduralKind::dead_leaves, count / 2),
                                       drawn(ProceduralKind::noise, count - count / 2)});
  pictures = pictures.narrow(2, (side - shape.height) / 2, shape.height)
                 .narrow(3, (side - shape.width) / 2, shape.width);
  return (pictures - pictures.mean()) / pictures.std();
}

}  // namespace retort::worker
