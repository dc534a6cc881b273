#include "worker/audit/attack_gan.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <vector>

#include "experiments/base/status.h"
#include "worker/optim/optimisers.h"
#include "worker/tensors/autograd.h"

namespace retort::worker::audit {
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
