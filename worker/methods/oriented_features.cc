#include "worker/methods/oriented_features.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "experiments/spec/networks.h"
#include "worker/models/frozen_front.h"
#include "worker/models/model_registry.h"
#include "worker/models/resampling.h"
#include "worker/private/head_gradients.h"

namespace retort::worker {
namespace {

// The same shape with its longer side at most kMostOrientedSide, and no side shorter than the gradients need.
ImageShape Shrunk(ImageShape shape) {
  const std::int64_t longer = std::max(shape.height, shape.width);
  if (longer <= kMostOrientedSide) return shape;
  const auto of = [longer, least = LeastExtent("hog-linear")](std::int64_t side) {
    return std::max(side * kMostOrientedSide / longer, std::min(side, least));
  };
  return {shape.channels, of(shape.height), of(shape.width)};
}

}  // namespace

Result<at::Tensor> OrientedFeatures(const Dataset& data, const Examples& examples) {
  const ImageShape seen = Shrunk(data.shape);
  RETORT_ASSIGN_OR_RETURN(
      const std::unique_ptr<Network> network,
      MakeNetwork("hog-linear", seen, data.classes, RngStream(0, Purpose::parameters), data.device));
  const std::optional<std::size_t> front = FrozenFront(*network);
  RETORT_CHECK(front.has_value());
  if (seen == data.shape) return SeenByHead(*network, *front, examples);
  return SeenByHead(*network, *front, examples, [&seen](const at::Tensor& images) {
    return PooledTo(images, seen.height, seen.width);
  });
}

}  // namespace retort::worker
