#include "worker/audit/attack_gan.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "worker/data/dataset.h"
#include "worker/optim/optimisers.h"
#include "worker/tensors/autograd.h"

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

namespace {

constexpr AdamSettings kAdam = {.beta1 = 0.5, .beta2 = 0.999};

class Training {
 public:
  Training(const Examples& pictures, const PixelScale& scale, const GanSettings& settings, const ImageLoss& beside)
      : pictures_(pictures),
        settings_(settings),
        beside_(beside),
        device_(pictures.labels.device()),
        gan_{std::make_unique<AttackGenerator>(pictures.shape(), scale, settings.networks,
                                               Stream(Purpose::parameters, 0), device_),
             std::make_unique<AttackCritic>(pictures.shape(), settings.networks, Stream(Purpose::parameters, 1),
                                            device_)},
        generator_adam_(gan_.generator->parameters().flat().numel(), kAdam, device_),
        critic_adam_(gan_.critic->parameters().flat().numel(), kAdam, device_) {}

  // Step n of all of the critic's.
  void TrainCritic(std::int64_t n) {
    const at::Tensor rows = DrawRows(Purpose::batches, n);
    const Batch batch = {pictures_.Batch(rows), FindLabels(rows)};
    at::Tensor made;
    {
      const at::NoGradGuard no_grad;
      made = gan_.generator->Forward(DrawLatents(Purpose::latents, n), batch.labels);
    }
    const at::AutoGradMode graph(true);
    const at::Tensor apart =
        gan_.critic->Forward(made, batch.labels).mean() - gan_.critic->Forward(batch.pictures, batch.labels).mean();
    Descend(apart + settings_.penalty * GradientPenalty(batch, made, n), gan_.critic->parameters(), critic_adam_);
  }

  void TrainGenerator(std::int64_t n) {
    const at::Tensor labels = FindLabels(DrawRows(Purpose::queries, n));
    const at::AutoGradMode graph(true);
    const at::Tensor made = gan_.generator->Forward(DrawLatents(Purpose::generator_latents, n), labels);
    at::Tensor loss = -gan_.critic->Forward(made, labels).mean();
    if (beside_) loss = loss + beside_(made, labels);
    Descend(loss, gan_.generator->parameters(), generator_adam_);
  }

  AttackGan Take() { return std::move(gan_); }

 private:
  struct Batch {
    at::Tensor pictures, labels;
  };

  [[nodiscard]] RngStream Stream(Purpose purpose, std::int64_t n) const {
    return {settings_.seed, purpose, static_cast<std::uint64_t>(n)};
  }
  [[nodiscard]] at::Tensor DrawLatents(Purpose purpose, std::int64_t n) const {
    return DrawNormalRows(settings_.batch, settings_.networks.latent, Stream(purpose, n)).to(device_);
  }
  // With replacement.
  [[nodiscard]] at::Tensor DrawRows(Purpose purpose, std::int64_t n) const {
    const RngStream stream = Stream(purpose, n);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(settings_.batch));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = stream.Below(i, pictures_.size());
    return at::tensor(rows, at::kLong);
  }
  [[nodiscard]] at::Tensor FindLabels(const at::Tensor& rows) const {
    const at::Tensor labels = pictures_.labels.index_select(0, rows.to(device_));
    return settings_.networks.classes > 0 ? labels : at::zeros_like(labels);
  }

  // Mean of (|gradient of the critic| - 1)^2 at points between real and made images.
  [[nodiscard]] at::Tensor GradientPenalty(const Batch& batch, const at::Tensor& made, std::int64_t n) const {
    const at::Tensor share =
        (DrawUniformTensor({settings_.batch, 1, 1, 1}, 0.5, Stream(Purpose::mixes, n)) + 0.5).to(device_);
    at::Tensor between = (batch.pictures + share * (made - batch.pictures)).detach().requires_grad_();
    const at::Tensor value = gan_.critic->Forward(between, batch.labels);
    const at::Tensor slope = ComputeDifferentiableJacobian({value}, {at::ones_like(value)}, {between}).at(0);
    return (slope.flatten(1).square().sum(1).add(1e-12).sqrt() - 1).square().mean();
  }

  void Descend(const at::Tensor& loss, ParameterArena& parameters, Adam& adam) const {
    parameters.Gather(ComputeVectorJacobian({loss}, {at::ones_like(loss)}, parameters.leaves()));
    adam.Step(parameters.flat(), parameters.gradient(), settings_.learning_rate);
  }

  const Examples& pictures_;
  const GanSettings& settings_;
  const ImageLoss& beside_;
  at::Device device_;
  AttackGan gan_;
  Adam generator_adam_, critic_adam_;
};

}  // namespace

AttackGan TrainAttackGan(const Examples& pictures, const PixelScale& scale, const GanSettings& settings,
                         const ImageLoss& beside, const std::function<void(std::int64_t)>& step) {
  RETORT_CHECK(pictures.size() >= 1 && settings.steps >= 1);
  Training training(pictures, scale, settings, beside);
  for (std::int64_t n = 0; n < settings.steps; ++n) {
    for (std::int64_t k = 0; k < settings.critic_steps; ++k) training.TrainCritic(n * settings.critic_steps + k);
    training.TrainGenerator(n);
    step(n + 1);
  }
  return training.Take();
}

}  // namespace retort::worker::audit
