#include "worker/training/oriented_features.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "experiments/base/rng_stream.h"
#include "experiments/methods/networks.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/models/resampling.h"
#include "worker/training/per_sample_gradients.h"

namespace retort::worker {
namespace {

constexpr const char* kOriented = "hog-linear";
constexpr std::int64_t kClasses = 2;  // of its last layer, which is not used

// The same shape with its longer side at most kMaxOrientedSide, and no side shorter than the gradients need.
ImageShape Shrunk(ImageShape shape) {
  const std::int64_t longer = std::max(shape.height, shape.width);
  if (longer <= kMaxOrientedSide) return shape;
  const auto of = [longer, least = FindMinExtent(kOriented)](std::int64_t side) {
    return std::max(side * kMaxOrientedSide / longer, std::min(side, least));
  };
  return {shape.channels, of(shape.height), of(shape.width)};
}

}  // namespace

Result<at::Tensor> ComputeOrientedFeatures(const ImageShape& shape, at::Device device, const Examples& examples) {
  const ImageShape seen = Shrunk(shape);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                          MakeNetwork(kOriented, seen, kClasses, RngStream(0, Purpose::parameters), device));
  const std::optional<std::size_t> front = FindFrozenFront(*network);
  RETORT_CHECK(front.has_value());
  if (seen == shape) return ComputeHeadInputs(*network, *front, examples);
  return ComputeHeadInputs(*network, *front, examples,
                           [&seen](const at::Tensor& images) { return PoolTo(images, seen.height, seen.width); });
}

}  // namespace retort::worker
