#include "worker/methods/oriented_features.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "experiments/spec/networks.h"
#include "worker/models/frozen_front.h"
#include "worker/models/model_registry.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kAtOnce = 256;

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
  RETORT_CHECK(front.has_value() && examples.size() > 0);
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  const std::int64_t at_once = std::min(kAtOnce, examples.RowsAtOnce());
  for (std::int64_t first = 0; first < examples.size(); first += at_once) {
    at::Tensor images = examples.Range(first, std::min(at_once, examples.size() - first));
    if (seen.height != data.shape.height || seen.width != data.shape.width)
      images = at::adaptive_avg_pool2d(images, {seen.height, seen.width});
    parts.push_back(network->ForwardTo(*front, images));
  }
  return at::cat(parts);
}

}  // namespace retort::worker
