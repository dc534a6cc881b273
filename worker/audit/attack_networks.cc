#include "worker/audit/attack_networks.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/upsample_nearest2d.h>

#include <algorithm>
#include <string>
#include <utility>

#include "worker/data/dataset.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kSmallestSide = 8, kMaxWidening = 8, kGroup = 8;
constexpr std::int64_t kGeneratorKernel = 3, kCriticKernel = 5;
constexpr double kEpsilon = 1e-5, kSlope = 0.2;

// What lies between the smallest sides and the image: channels and sides of each stage, the smallest first; the last
// has the image's sides.
std::vector<ImageShape> MakeStages(const ImageShape& image, std::int64_t width) {
  std::vector<ImageShape> stages = {{width, image.height, image.width}};
  while (std::max(stages.front().height, stages.front().width) > kSmallestSide || stages.size() < 2) {
    const ImageShape& outer = stages.front();
    stages.insert(stages.begin(),
                  {std::min(2 * outer.channels, kMaxWidening * width), (outer.height + 1) / 2, (outer.width + 1) / 2});
  }
  return stages;
}

void AddLayer(std::vector<ParameterShape>& shapes, const std::string& name, std::vector<std::int64_t> weight) {
  std::int64_t fan_in = 1;
  for (std::size_t i = 1; i < weight.size(); ++i) fan_in *= weight[i];
  const std::int64_t out = weight.front();
  shapes.push_back({name + ".weight", std::move(weight), ComputeFanInBound(fan_in)});
  shapes.push_back({name + ".bias", {out}, ComputeFanInBound(fan_in)});
}

void AddNorm(std::vector<ParameterShape>& shapes, const std::string& name, std::int64_t classes,
             std::int64_t channels) {
  const std::int64_t rows = std::max<std::int64_t>(classes, 1);
  shapes.push_back({name + ".weight", {rows, channels}, 0, 1});
  shapes.push_back({name + ".bias", {rows, channels}, 0, 0});
}

}  // namespace

AttackGenerator::AttackGenerator(ImageShape image, const PixelScale& scale, const AttackNetworkSettings& settings,
                                 const RngStream& stream, at::Device device)
    : settings_(settings), stages_(MakeStages(image, settings.width)) {
  const at::Tensor black = NormaliseLevel(0, scale).view({1, -1, 1, 1}).to(device);
  const at::Tensor white = NormaliseLevel(1, scale).view({1, -1, 1, 1}).to(device);
  middle_ = (black + white) / 2;
  reach_ = (white - black) / 2;
  std::vector<ParameterShape> shapes;
  AddLayer(shapes, "fc", {stages_.front().size(), settings.latent});
  AddNorm(shapes, "norm0", settings.classes, stages_.front().channels);
  for (std::size_t i = 1; i < stages_.size(); ++i) {
    const std::string number = std::to_string(i);
    AddLayer(shapes, "conv" + number,
             {stages_[i].channels, stages_[i - 1].channels, kGeneratorKernel, kGeneratorKernel});
    AddNorm(shapes, "norm" + number, settings.classes, stages_[i].channels);
  }
  AddLayer(shapes, "picture", {image.channels, settings.width, kGeneratorKernel, kGeneratorKernel});
  parameters_ = std::make_unique<ParameterArena>(std::move(shapes), stream, device);
}

// Parameters `place` and the next are the norm's.
at::Tensor AttackGenerator::Normed(const at::Tensor& x, const at::Tensor& labels, std::size_t place) const {
  const std::vector<at::Tensor>& p = parameters_->leaves();
  const std::int64_t channels = x.size(1);
  const at::Tensor normed = at::group_norm(x, channels % kGroup == 0 ? channels / kGroup : 1, {}, {}, kEpsilon);
  const at::Tensor scales = p[place].index_select(0, labels).view({-1, channels, 1, 1});
  const at::Tensor offsets = p[place + 1].index_select(0, labels).view({-1, channels, 1, 1});
  return at::relu(normed * scales + offsets);
}

at::Tensor AttackGenerator::Forward(const at::Tensor& latents, const at::Tensor& labels) const {
  const std::vector<at::Tensor>& p = parameters_->leaves();
  const ImageShape& first = stages_.front();
  at::Tensor x = at::linear(latents, p[0], p[1]).view({-1, first.channels, first.height, first.width});
  x = Normed(x, labels, 2);
  std::size_t next = 4;
  for (std::size_t i = 1; i < stages_.size(); ++i, next += 4) {
    x = at::upsample_nearest2d(x, {stages_[i].height, stages_[i].width});
    x = Normed(at::conv2d(x, p[next], p[next + 1], 1, kGeneratorKernel / 2), labels, next + 2);
  }
  return middle_ + reach_ * at::tanh(at::conv2d(x, p[next], p[next + 1], 1, kGeneratorKernel / 2));
}

AttackCritic::AttackCritic(ImageShape image, const AttackNetworkSettings& settings, const RngStream& stream,
                           at::Device device)
    : classes_(settings.classes) {
  const std::vector<ImageShape> stages = MakeStages(image, settings.width);
  halvings_ = stages.size() - 1;
  std::vector<ParameterShape> shapes;
  std::int64_t in = image.channels;
  for (std::size_t i = halvings_; i-- > 0;) {  // the widths of the generator, one stage on
    const std::int64_t out = stages[i + 1].channels;
    AddLayer(shapes, "conv" + std::to_string(halvings_ - i), {out, in, kCriticKernel, kCriticKernel});
    in = out;
  }
  const std::int64_t features = in * stages.front().height * stages.front().width;
  AddLayer(shapes, "fc", {1, features});
  if (classes_ > 0) shapes.push_back({"classes.weight", {classes_, features}, ComputeFanInBound(features)});
  parameters_ = std::make_unique<ParameterArena>(std::move(shapes), stream, device);
}

at::Tensor AttackCritic::Forward(const at::Tensor& images, const at::Tensor& labels) const {
  const std::vector<at::Tensor>& p = parameters_->leaves();
  at::Tensor x = images;
  std::size_t next = 0;
  for (std::size_t i = 0; i < halvings_; ++i, next += 2)
    x = at::leaky_relu(at::conv2d(x, p[next], p[next + 1], 2, kCriticKernel / 2), kSlope);
  const at::Tensor features = x.flatten(1);
  at::Tensor value = at::linear(features, p[next], p[next + 1]).squeeze(1);
  if (classes_ > 0) value = value + (features * p[next + 2].index_select(0, labels)).sum(1);
  return value;
}

}  // namespace retort::worker::audit
