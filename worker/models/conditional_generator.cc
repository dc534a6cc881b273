#include "worker/models/conditional_generator.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/gang/gang_batch_norm.h"
#include "worker/models/resampling.h"

namespace retort::worker {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr std::int64_t kShrink = 4, kKernel = 5;

// Of [rows, features].
at::Tensor BatchNorm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, Collective* gang) {
  if (gang != nullptr && gang->size() > 1)
    return GangBatchNorm(x.unsqueeze(2).unsqueeze(3), weight, bias, kEpsilon, *gang).flatten(1);
  return at::batch_norm(x, weight, bias, {}, {}, /*training=*/true, /*momentum=*/0, kEpsilon,
                        /*cudnn_enabled=*/false);
}

void AddLayer(std::vector<ParameterShape>& shapes, const std::string& name, std::vector<std::int64_t> weight) {
  std::int64_t fan_in = 1;
  for (std::size_t i = 1; i < weight.size(); ++i) fan_in *= weight[i];
  const std::int64_t out = weight.front();
  shapes.push_back({name + ".weight", std::move(weight), FanInBound(fan_in)});
  shapes.push_back({name + ".bias", {out}, FanInBound(fan_in)});
}

void AddNorm(std::vector<ParameterShape>& shapes, const std::string& name, std::int64_t features) {
  shapes.push_back({name + ".weight", {features}, 0, 1});
  shapes.push_back({name + ".bias", {features}, 0, 0});
}

}  // namespace

ConditionalGenerator::ConditionalGenerator(ImageShape image, std::int64_t classes,
                                           const ConditionalGeneratorSettings& settings, const RngStream& stream,
                                           at::Device device)
    : image_(image), classes_(classes), settings_(settings) {
  const std::int64_t cells = settings.width * (image.height / kShrink) * (image.width / kShrink);
  std::vector<ParameterShape> shapes;
  AddLayer(shapes, "fc1", {settings.hidden, settings.code + classes});
  AddNorm(shapes, "bn1", settings.hidden);
  AddLayer(shapes, "fc2", {cells, settings.hidden});
  AddNorm(shapes, "bn2", cells);
  AddLayer(shapes, "conv1", {settings.width / 2, settings.width, kKernel, kKernel});
  AddLayer(shapes, "conv2", {image.channels, settings.width / 2, kKernel, kKernel});
  parameters_ = std::make_unique<ParameterArena>(std::move(shapes), stream, device);
}

Result<std::unique_ptr<ConditionalGenerator>> ConditionalGenerator::Create(
    ImageShape image, std::int64_t classes, const ConditionalGeneratorSettings& settings, const RngStream& stream,
    at::Device device) {
  RETORT_CHECK(settings.code >= 1 && settings.hidden >= 1 && settings.width >= 2);
  if (image.height % kShrink != 0 || image.width % kShrink != 0) {
    return UsageError("The generator doubles its image twice, so height and width must be multiples of 4; these are " +
                      std::to_string(image.height) + " x " + std::to_string(image.width) + ".");
  }
  return std::unique_ptr<ConditionalGenerator>(
      new ConditionalGenerator(image, classes, settings, stream, device));
}

at::Tensor ConditionalGenerator::Forward(const at::Tensor& latents, const at::Tensor& labels,
                                         Collective* gang) const {
  const std::vector<at::Tensor>& p = parameters_->leaves();
  at::Tensor x = at::cat({latents, at::one_hot(labels, classes_).to(at::kFloat)}, 1);
  x = at::relu(BatchNorm(at::linear(x, p[0], p[1]), p[2], p[3], gang));
  x = BatchNorm(at::linear(x, p[4], p[5]), p[6], p[7], gang);
  x = x.view({-1, settings_.width, image_.height / kShrink, image_.width / kShrink});
  x = at::relu(at::conv2d(DoubledBilinear(x), p[8], p[9], 1, kKernel / 2));
  return at::sigmoid(at::conv2d(DoubledBilinear(x), p[10], p[11], 1, kKernel / 2));
}

}  // namespace retort::worker
