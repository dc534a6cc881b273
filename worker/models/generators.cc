#include "worker/models/generators.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_nearest2d.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/networks.h"
#include "worker/models/described_generator.h"
#include "worker/models/layer_forward.h"
#include "worker/models/resampling.h"
#include "worker/models/training_scopes.h"

namespace retort::worker {
namespace {

constexpr double kEpsilon = Generator::kOuterEpsilon;
// The constant that DAFL's code gives to its inner batch norms.
constexpr double kInnerEpsilon = 0.8;

// Leaky rectifier that overwrites its input: batch norm's backward pass does not look at its output.
at::Tensor Rectified(at::Tensor x) { return at::leaky_relu_(x, Generator::kSlope); }

at::Tensor Doubled(const at::Tensor& x) { return at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)}); }

void AddNorm(std::vector<ParameterShape>& shapes, const std::string& name, std::int64_t channels) {
  shapes.push_back({name + ".weight", {channels}, 0, 1});
  shapes.push_back({name + ".bias", {channels}, 0, 0});
}

void AddConv(std::vector<ParameterShape>& shapes, const std::string& name, std::int64_t in, std::int64_t out,
             bool bias = true) {
  shapes.push_back({name + ".weight", {out, in, 3, 3}, ComputeFanInBound(9 * in)});
  if (bias) shapes.push_back({name + ".bias", {out}, ComputeFanInBound(9 * in)});
}

// f32 [1, C, 1, 1]
at::Tensor ByChannel(const std::vector<double>& values, at::Device device) {
  return at::tensor(values, at::kDouble).to(at::kFloat).view({1, -1, 1, 1}).to(device);
}

constexpr std::int64_t kShrink = ConditionalGenerator::kShrink, kKernel = ConditionalGenerator::kKernel;

void AddLayer(std::vector<ParameterShape>& shapes, const std::string& name, std::vector<std::int64_t> weight) {
  std::int64_t fan_in = 1;
  for (std::size_t i = 1; i < weight.size(); ++i) fan_in *= weight[i];
  const std::int64_t out = weight.front();
  shapes.push_back({name + ".weight", std::move(weight), ComputeFanInBound(fan_in)});
  shapes.push_back({name + ".bias", {out}, ComputeFanInBound(fan_in)});
}

using Stages = Generator::Stages;

std::vector<ParameterShape> ListParameters(ImageShape image, const GeneratorSettings& settings, const Stages& stages) {
  const auto shrink = std::int64_t{1} << stages.widths.size();
  const std::int64_t latent = settings.latent, width = settings.width;
  const std::int64_t cells = width * (image.height / shrink) * (image.width / shrink);
  std::vector<ParameterShape> shapes;
  shapes.push_back({"fc.weight", {cells, latent}, ComputeFanInBound(latent)});
  shapes.push_back({"fc.bias", {cells}, ComputeFanInBound(latent)});
  AddNorm(shapes, "bn0", width);
  std::int64_t in = width;
  int stage = 1;
  for (const std::int64_t out : stages.widths) {
    const std::string number = std::to_string(stage++);
    AddConv(shapes, "conv" + number, in, out, /*bias=*/settings.network != GeneratorNetwork::fast);
    AddNorm(shapes, "bn" + number, out);
    in = out;
  }
  AddConv(shapes, "conv" + std::to_string(stage), in, image.channels);
  if (settings.deviation > 0) DrawNormal(shapes, settings.deviation);
  return shapes;
}

class ZooGenerator final : public Generator {
 public:
  ZooGenerator(ImageShape image, const GeneratorSettings& settings, Stages stages, const RngStream& stream,
               at::Device device)
      : Generator(std::make_unique<ParameterArena>(ListParameters(image, settings, stages), stream, device)),
        image_(image),
        width_(settings.width),
        fast_(settings.network == GeneratorNetwork::fast),
        stages_(std::move(stages)),
        normalisation_(settings.scale, device) {}

  at::Tensor Forward(const at::Tensor& latents, Collective* gang) const override {
    const std::vector<at::Tensor>& p = parameters().leaves();
    const auto shrink = std::int64_t{1} << stages_.widths.size();
    at::Tensor x = at::linear(latents, p[0], p[1]).view({-1, width_, image_.height / shrink, image_.width / shrink});
    if (PrefersChannelsLast(x.device())) x = x.contiguous(at::MemoryFormat::ChannelsLast);
    x = NormaliseByBatch(x, p[2], p[3], kEpsilon, gang);
    std::size_t next = 4;
    for (std::size_t stage = 0; stage < stages_.widths.size(); ++stage) {
      const at::Tensor& weight = p[next++];
      x = at::conv2d(Doubled(x), weight, fast_ ? at::Tensor() : p[next++], 1, 1);
      x = Rectified(NormaliseByBatch(x, p[next], p[next + 1], stages_.epsilon, gang));
      next += 2;
    }
    return Finish(at::conv2d(x, p[next], p[next + 1], 1, 1), gang);
  }

 private:
  // What the last convolution says, as images.
  [[nodiscard]] at::Tensor Finish(at::Tensor x, Collective* gang) const {
    if (!fast_) return NormaliseByBatch(x.tanh_(), {}, {}, kEpsilon, gang);
    return normalisation_.Apply(at::sigmoid(x));
  }

  ImageShape image_;
  std::int64_t width_;
  bool fast_;
  Stages stages_;
  PixelNormalisation normalisation_;
};

std::vector<ParameterShape> ListParameters(ImageShape image, std::int64_t classes,
                                           const ConditionalGeneratorSettings& settings) {
  const std::int64_t cells = settings.width * (image.height / kShrink) * (image.width / kShrink);
  std::vector<ParameterShape> shapes;
  AddLayer(shapes, "fc1", {settings.hidden, settings.code + classes});
  AddNorm(shapes, "bn1", settings.hidden);
  AddLayer(shapes, "fc2", {cells, settings.hidden});
  AddNorm(shapes, "bn2", cells);
  AddLayer(shapes, "conv1", {settings.width / 2, settings.width, kKernel, kKernel});
  AddLayer(shapes, "conv2", {image.channels, settings.width / 2, kKernel, kKernel});
  return shapes;
}

class ZooConditionalGenerator final : public ConditionalGenerator {
 public:
  ZooConditionalGenerator(ImageShape image, std::int64_t classes, const ConditionalGeneratorSettings& settings,
                          const RngStream& stream, at::Device device)
      : ConditionalGenerator(
            settings.code, std::make_unique<ParameterArena>(ListParameters(image, classes, settings), stream, device)),
        image_(image),
        classes_(classes),
        width_(settings.width) {}

  at::Tensor Forward(const at::Tensor& latents, const at::Tensor& labels, Collective* gang) const override {
    const std::vector<at::Tensor>& p = parameters().leaves();
    at::Tensor x = at::cat({latents, at::one_hot(labels, classes_).to(at::kFloat)}, 1);
    x = at::relu(NormaliseByBatch(at::linear(x, p[0], p[1]), p[2], p[3], kEpsilon, gang));
    x = NormaliseByBatch(at::linear(x, p[4], p[5]), p[6], p[7], kEpsilon, gang);
    x = x.view({-1, width_, image_.height / kShrink, image_.width / kShrink});
    x = at::relu(at::conv2d(DoubleBilinear(x), p[8], p[9], 1, kKernel / 2));
    return at::sigmoid(at::conv2d(DoubleBilinear(x), p[10], p[11], 1, kKernel / 2));
  }

 private:
  ImageShape image_;
  std::int64_t classes_, width_;
};

}  // namespace

Generator::Stages Generator::FindStages(ImageShape image, const GeneratorSettings& settings) {
  const std::int64_t width = settings.width;
  const bool dafl = settings.network == GeneratorNetwork::dafl;
  if (ComputeGeneratorMultiple(image.height, image.width) == 4)
    return {{width, width / 2}, dafl ? kInnerEpsilon : kEpsilon};
  return {{width, width, width / 2, width / 2, width / 2}, kEpsilon};
}

void DrawNormal(std::vector<ParameterShape>& shapes, double deviation) {
  for (ParameterShape& p : shapes) {
    p.draw = Draw::normal;
    p.bound = p.name.ends_with(".weight") ? deviation : 0;
  }
}

PixelNormalisation::PixelNormalisation(const PixelScale& scale, at::Device device) {
  if (scale.mean.empty()) return;
  mean_ = ByChannel(scale.mean, device);
  std_ = ByChannel(scale.std, device);
}

at::Tensor PixelNormalisation::Apply(const at::Tensor& pixels) const {
  return mean_.defined() ? (pixels - mean_) / std_ : pixels;
}

Result<std::unique_ptr<Generator>> Generator::Create(ImageShape image, std::int64_t latent, std::int64_t width,
                                                     const RngStream& stream, at::Device device) {
  GeneratorSettings settings;
  settings.latent = latent;
  settings.width = width;
  return Create(image, settings, stream, device);
}

Result<std::unique_ptr<Generator>> Generator::Create(ImageShape image, const GeneratorSettings& settings,
                                                     const RngStream& stream, at::Device device) {
  if (settings.layers) return MakeDescribedGenerator(image, settings, stream, device);
  RETORT_CHECK(settings.latent >= 1 && settings.width >= 2);
  Stages stages = FindStages(image, settings);
  const std::size_t doublings = stages.widths.size();
  const auto shrink = std::int64_t{1} << doublings;
  if (image.height % shrink != 0 || image.width % shrink != 0) {
    return UsageError("The generator doubles its image " + std::string(doublings == 2 ? "twice" : "five times") +
                      ", so height and width must be multiples of " + std::to_string(shrink) + "; these are " +
                      std::to_string(image.height) + " x " + std::to_string(image.width) + ".");
  }
  return std::unique_ptr<Generator>(std::make_unique<ZooGenerator>(image, settings, std::move(stages), stream, device));
}

Result<std::unique_ptr<ConditionalGenerator>> ConditionalGenerator::Create(ImageShape image, std::int64_t classes,
                                                                           const ConditionalGeneratorSettings& settings,
                                                                           const RngStream& stream, at::Device device) {
  if (settings.layers) return MakeDescribedConditionalGenerator(image, classes, settings, stream, device);
  RETORT_CHECK(settings.code >= 1 && settings.hidden >= 1 && settings.width >= 2);
  if (image.height % kShrink != 0 || image.width % kShrink != 0) {
    return UsageError("The generator doubles its image twice, so height and width must be multiples of 4; these are " +
                      std::to_string(image.height) + " x " + std::to_string(image.width) + ".");
  }
  return std::unique_ptr<ConditionalGenerator>(
      std::make_unique<ZooConditionalGenerator>(image, classes, settings, stream, device));
}

}  // namespace retort::worker
