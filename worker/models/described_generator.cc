#include "worker/models/described_generator.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/one_hot.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/network_layers.h"
#include "worker/models/described_network.h"
#include "worker/models/layer_forward.h"
#include "worker/models/layer_plan.h"
#include "worker/models/training_scopes.h"

namespace retort::worker {
namespace {

// Computes all layers from `start`, f32 [rows, values].
at::Tensor Run(const LatentLayers& network, const std::vector<at::Tensor>& leaves, const at::Tensor& start,
               Collective* gang) {
  static const BufferArena kNoBuffers({}, {}, at::kCPU);
  const ForwardMode mode{.training = true,
                         .channels_last = network.plan.channels_last && PrefersChannelsLast(start.device()),
                         .gang = gang};
  std::vector<at::Tensor> results(network.layers.size()), inputs;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const LayerNode& node = network.plan.nodes[i];
    if (!node.runs) continue;
    inputs.clear();
    for (const std::int32_t at : node.inputs)
      inputs.push_back(at == kImages ? start : results[static_cast<std::size_t>(at)]);
    results[i] = ForwardLayer(network.layers[i], node, inputs, leaves, kNoBuffers, mode);
    for (const std::int32_t at : node.done) results[static_cast<std::size_t>(at)].reset();
  }
  return results.back();
}

// What a sigmoid or a tanh says, between 0 and 1.
at::Tensor BringToPixels(const Layer& last, const at::Tensor& x) {
  return last.kind == LayerKind::tanh ? (x + 1) * 0.5 : x;
}

std::unique_ptr<ParameterArena> MakeArena(std::vector<ParameterShape> shapes, double deviation, const RngStream& stream,
                                          at::Device device) {
  if (deviation > 0) DrawNormal(shapes, deviation);
  return std::make_unique<ParameterArena>(std::move(shapes), stream, device);
}

class DescribedGenerator final : public Generator {
 public:
  DescribedGenerator(LatentLayers network, const GeneratorSettings& settings, const RngStream& stream,
                     at::Device device)
      : Generator(MakeArena(network.plan.parameters, settings.deviation, stream, device)),
        network_(std::move(network)),
        normalisation_(settings.scale, device) {}

  at::Tensor Forward(const at::Tensor& latents, Collective* gang) const override {
    const Layer& last = network_.layers.back();
    const at::Tensor made = Run(network_, parameters().leaves(), latents, gang);
    return last.kind == LayerKind::batch_norm ? made : normalisation_.Apply(BringToPixels(last, made));
  }

 private:
  LatentLayers network_;
  PixelNormalisation normalisation_;
};

class DescribedConditionalGenerator final : public ConditionalGenerator {
 public:
  DescribedConditionalGenerator(LatentLayers network, LatentShape latents, const RngStream& stream, at::Device device)
      : ConditionalGenerator(latents.latent, MakeArena(network.plan.parameters, 0, stream, device)),
        network_(std::move(network)),
        classes_(latents.classes) {}

  at::Tensor Forward(const at::Tensor& latents, const at::Tensor& labels, Collective* gang) const override {
    const at::Tensor start = at::cat({latents, at::one_hot(labels, classes_).to(at::kFloat)}, 1);
    return BringToPixels(network_.layers.back(), Run(network_, parameters().leaves(), start, gang));
  }

 private:
  LatentLayers network_;
  std::int64_t classes_;
};

}  // namespace

Result<LatentLayers> ReadLatentLayers(const std::string& text, LatentShape latents, ImageShape image) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<NetworkLayer> described, ParseNetworkLayers(text));
  if (!MakesImages(described))
    return UsageError("A generator turns latents into pictures by a reshape, and these layers have none.");
  const PlannedShapes planned = PlanGeneratorShapes(described, latents, {image.channels, image.height, image.width});
  if (planned.misfit)
    return UsageError(planned.misfit->message + " (the latents have " + std::to_string(latents.values()) + " values).");
  LatentLayers made;
  for (const NetworkLayer& layer : described) {
    made.layers.push_back(MakeLayer(layer, 0));
    made.layers.back().tracked = false;
  }
  RETORT_ASSIGN_OR_RETURN(made.plan, PlanLatentLayers(made.layers, latents.values()));
  return made;
}

Result<std::unique_ptr<Generator>> MakeDescribedGenerator(ImageShape image, const GeneratorSettings& settings,
                                                          const RngStream& stream, at::Device device) {
  RETORT_ASSIGN_OR_RETURN(LatentLayers network, ReadLatentLayers(*settings.layers, {settings.latent, 0}, image));
  return std::unique_ptr<Generator>(std::make_unique<DescribedGenerator>(std::move(network), settings, stream, device));
}

Result<std::unique_ptr<ConditionalGenerator>> MakeDescribedConditionalGenerator(
    ImageShape image, std::int64_t classes, const ConditionalGeneratorSettings& settings, const RngStream& stream,
    at::Device device) {
  const LatentShape latents{settings.code, classes};
  RETORT_ASSIGN_OR_RETURN(LatentLayers network, ReadLatentLayers(*settings.layers, latents, image));
  if (network.layers.back().kind == LayerKind::batch_norm)
    return UsageError("The pixels of this method lie between 0 and 1: end the generator in sigmoid or tanh.");
  return std::unique_ptr<ConditionalGenerator>(
      std::make_unique<DescribedConditionalGenerator>(std::move(network), latents, stream, device));
}

}  // namespace retort::worker
