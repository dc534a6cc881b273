#include "worker/models/features/fit_features.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/data/procedural_images.h"
#include "worker/models/features/patches.h"
#include "worker/models/features/whitening.h"
#include "worker/models/layer.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kMinDrawnSide = 8;
constexpr std::uint64_t kPicturesKey = 0x70696374757265;  // public: the same for everybody

constexpr std::int64_t kPictures = 6144, kAtOnce = 256;

// Makes public images: f32 [count, channels, height, width] of mean 0 and deviation 1 over all: procedural strokes
// where there is one channel, half dead leaves and half 1/f noise where there are more. A function of the arguments
// alone: a public constant, the same for every trial.
at::Tensor FittingImages(std::int64_t count, const ImageShape& shape) {
  const std::int64_t side = std::max({shape.height, shape.width, kMinDrawnSide});
  const RngStream stream(kPicturesKey);
  const auto drawn = [&](ProceduralKind kind, std::int64_t of_these) {
    return DrawProceduralImages(kind, of_these, shape.channels, side, stream.Lane(static_cast<std::uint64_t>(kind)));
  };
  at::Tensor images =
      shape.channels == 1
          ? drawn(ProceduralKind::strokes, count)
          : at::cat({drawn(ProceduralKind::dead_leaves, count / 2), drawn(ProceduralKind::noise, count - count / 2)});
  images = images.narrow(2, (side - shape.height) / 2, shape.height).narrow(3, (side - shape.width) / 2, shape.width);
  return (images - images.mean()) / images.std();
}

// What layer `at` makes of the images.
at::Tensor Seen(const Network& network, std::int32_t at, const at::Tensor& images) {
  RETORT_CHECK(at != kImages);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < images.size(0); first += kAtOnce) {
    const at::Tensor part = images.narrow(0, first, std::min(kAtOnce, images.size(0) - first));
    parts.push_back(network.ForwardTo(static_cast<std::size_t>(at), part));
  }
  return at::cat(parts);
}

void FitOnCpu(Network& network) {
  const at::Tensor images = FittingImages(kPictures, network.input());
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    const LayerNode& node = network.plan().nodes[i];
    if (node.constant < 0 || !node.runs) continue;
    const auto first = static_cast<std::size_t>(node.constant);
    const auto put = [&](std::size_t which, const at::Tensor& value) {
      network.buffers().constant(first + which).copy_(value);
    };
    if (layer.kind == LayerKind::patches) {
      const PatchFilters fitted = FitPatchFilters(images, layer.out, layer.kernel);
      put(0, fitted.filters);
      put(1, fitted.offset);
    } else if (layer.kind == LayerKind::whiten) {
      const Whitening fitted =
          FitWhitening(Seen(network, node.inputs.front(), images), node.shape.front() - 1, layer.rate);
      put(0, fitted.mean);
      put(1, fitted.components);
    }
  }
}

}  // namespace

void FitFeatures(Network& network, const ConstantsCache& cache) {
  if (network.plan().constants.empty()) return;
  const at::NoGradGuard no_grad;
  at::Tensor& constants = network.buffers().constants();
  const std::string key = cache.FindKey(network.layers(), network.input());
  if (const std::optional<at::Tensor> kept = cache.Read(key, constants.numel())) {
    constants.copy_(*kept);
    return;
  }
  Network twin(network.layers(), network.input(), std::nullopt);
  FitOnCpu(twin);
  constants.copy_(twin.buffers().constants());
  cache.Keep(key, twin.buffers().constants());
}

}  // namespace retort::worker
