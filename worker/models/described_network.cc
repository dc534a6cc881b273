#include "worker/models/described_network.h"

#include <array>
#include <utility>

#include "experiments/methods/network_layers.h"

namespace retort::worker {
namespace {

// In the order of NetworkLayerKind.
constexpr std::array kKinds = {LayerKind::conv,
                               LayerKind::linear,
                               LayerKind::batch_norm,
                               LayerKind::group_norm,
                               LayerKind::layer_norm,
                               LayerKind::relu,
                               LayerKind::relu6,
                               LayerKind::leaky,
                               LayerKind::gelu,
                               LayerKind::tanh,
                               LayerKind::max_pool,
                               LayerKind::avg_pool,
                               LayerKind::adaptive_avg_pool,
                               LayerKind::spatial_mean,
                               LayerKind::dropout,
                               LayerKind::flatten,
                               LayerKind::add,
                               LayerKind::pad_shortcut,
                               LayerKind::sigmoid,
                               LayerKind::reshape,
                               LayerKind::upsample,
                               LayerKind::conv_transpose};
static_assert(kKinds.size() == static_cast<std::size_t>(NetworkLayerKind::conv_transpose) + 1);

}  // namespace

Layer MakeLayer(const NetworkLayer& described, std::int64_t classes) {
  return {.kind = kKinds.at(static_cast<std::size_t>(described.kind)),
          .name = described.name,
          .out = described.out == kAsManyAsClasses ? classes : described.out,
          .kernel = described.kernel,
          .stride = described.stride,
          .padding = described.padding,
          .rate = described.rate,
          .inputs = described.inputs,
          .groups = described.groups,
          .dilation = described.dilation,
          .bias = described.bias,
          .ceil = described.ceil,
          .epsilon = described.epsilon,
          .momentum = described.momentum,
          .affine = described.affine,
          .height = described.height,
          .width = described.width,
          .factor = described.factor,
          .bilinear = described.bilinear,
          .output_padding = described.output_padding};
}

Result<std::vector<Layer>> MakeDescribedLayers(const std::string& text, ImageShape input, std::int64_t classes) {
  static_assert(kNetworkInput == kImages);
  RETORT_ASSIGN_OR_RETURN(const std::vector<NetworkLayer> described, ParseNetworkLayers(text));
  if (MakesImages(described))
    return UsageError(
        "The layers begin with latents and make pictures (reshape): they are a generator's, and no network " +
        std::string("that classifies pictures."));
  const PlannedShapes planned = PlanShapes(described, {input.channels, input.height, input.width}, classes);
  if (planned.misfit) {
    const LayerShape shape = {input.channels, input.height, input.width};
    return UsageError(planned.misfit->message + " (the images are " + FormatShape(shape) + ").");
  }
  std::vector<Layer> layers;
  layers.reserve(described.size());
  for (const NetworkLayer& layer : described) layers.push_back(MakeLayer(layer, classes));
  return layers;
}

}  // namespace retort::worker
