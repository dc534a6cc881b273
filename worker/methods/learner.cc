#include "worker/methods/learner.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>

#include <utility>
#include <vector>

#include "worker/gang/summed_gradient.h"
#include "worker/models/autocast_scope.h"

namespace retort::worker {

Minibatch OwnPart(const at::Tensor& images, const at::Tensor& targets, const Collective& gang) {
  const RowShare share = ShareOf(images.size(0), gang);
  return {Own(images, share), Own(targets, share), share.first, images.size(0)};
}

namespace {

std::variant<Adam, Sgd> OptimiserOf(const ParameterArena& parameters, const LearnerSettings& settings) {
  const at::Tensor& flat = parameters.flat();
  if (settings.optimizer == Optimizer::sgd) return Sgd(flat.numel(), settings.sgd, flat.device());
  return Adam(flat.numel(), settings.adam, flat.device());
}

}  // namespace

LearnerSettings SettingsOf(const TrialSpec& spec) {
  LearnerSettings settings;
  settings.optimizer = spec.optimizer;
  settings.adam.weight_decay = spec.weight_decay;
  settings.sgd = {spec.momentum, spec.weight_decay};
  settings.precision = spec.precision;
  return settings;
}

Learner::Learner(std::unique_ptr<Network> network, Collective& gang, const LearnerSettings& settings)
    : network_(std::move(network)),
      gang_(gang),
      precision_(settings.precision),
      optimiser_(OptimiserOf(network_->parameters(), settings)) {}

Result<double> Learner::Teach(const Minibatch& batch, double learning_rate, const std::optional<RngStream>& dropout,
                              double temperature, const Expectation& expect) {
  ParameterArena& parameters = network_->parameters();
  std::vector<at::Tensor> outputs, seeds;
  double loss = 0;
  if (batch.images.size(0) > 0) {
    std::optional<RowStream> masks;
    if (dropout) masks.emplace(*dropout, batch.first);
    const at::Tensor logits = TrainingLogits(batch.images, masks);
    const auto rows = static_cast<double>(batch.rows);
    const at::Tensor log_p = at::log_softmax(logits.detach() / temperature, 1);
    const at::Tensor targets = expect ? expect(log_p, batch.targets) : batch.targets;
    loss = -(targets * log_p).sum().item<double>() * temperature * temperature / rows;
    outputs.push_back(logits);
    seeds.push_back(log_p.exp().mul_(targets.sum(1, true)).sub_(targets).mul_(temperature / rows));
  }
  RETORT_RETURN_IF_ERROR(SumGradients(outputs, seeds, parameters, gang_));
  if (batch.images.size(0) == 0) network_->CountBatch();
  RETORT_RETURN_IF_ERROR(network_->buffers().ShareInGang(batch.images.size(0), batch.rows, gang_));
  std::visit([&](auto& optimiser) { optimiser.Step(parameters.flat(), parameters.gradient(), learning_rate); },
             optimiser_);
  return loss;
}

at::Tensor Learner::TrainingLogits(const at::Tensor& images, const std::optional<RowStream>& masks) {
  const AutocastScope scope(precision_, images.device());
  return network_->Train(images, masks).logits.to(at::kFloat);
}

void Learner::Register(TrainState& state, const std::string& prefix) {
  state.Add(prefix + "parameters", network_->parameters().flat());
  if (BufferArena& buffers = network_->buffers(); !buffers.empty()) {
    state.Add(prefix + "statistics", buffers.flat());
    state.Add(prefix + "batches", buffers.counts());
  }
  const std::string own = prefix + (std::holds_alternative<Adam>(optimiser_) ? "adam/" : "sgd/");
  std::visit([&](auto& optimiser) { optimiser.Register(state, own); }, optimiser_);
}

void Learner::ResetOptimiser() {
  std::visit([](auto& optimiser) { optimiser.Reset(); }, optimiser_);
}

at::Tensor OneHotTargets(const at::Tensor& labels, std::int64_t classes, double smoothing) {
  const at::Tensor hot = at::one_hot(labels, classes).to(at::kFloat);
  return smoothing == 0 ? hot : hot * (1 - smoothing) + smoothing / static_cast<double>(classes);
}

}  // namespace retort::worker
