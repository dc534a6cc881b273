#include "worker/training/learner.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>

#include <algorithm>
#include <utility>

#include "worker/gang/summed_gradient.h"
#include "worker/models/training_scopes.h"
#include "worker/optim/schedule.h"
#include "worker/tensors/autograd.h"
#include "worker/tensors/loss_sum.h"

namespace retort::worker {

Minibatch OwnMinibatch(const at::Tensor& images, const at::Tensor& targets, const Collective& gang) {
  const RowShare share = ComputeRowShare(images.size(0), gang);
  return {Own(images, share), Own(targets, share), share.first, images.size(0)};
}

namespace {

std::variant<Adam, Sgd> MakeOptimiser(const ParameterArena& parameters, const LearnerSettings& settings) {
  const at::Tensor& flat = parameters.flat();
  if (settings.optimizer == Optimizer::sgd) return Sgd(flat.numel(), settings.sgd, flat.device());
  return Adam(flat.numel(), settings.adam, flat.device());
}

std::int64_t CountDropouts(const Network& network) {
  const std::vector<Layer>& layers = network.layers();
  return std::count_if(layers.begin(), layers.end(), [](const Layer& l) { return l.kind == LayerKind::dropout; });
}

}  // namespace

LearnerSettings MakeLearnerSettings(const TrialSpec& spec, StepGraphs* graphs) {
  LearnerSettings settings;
  settings.graphs = graphs;
  settings.optimizer = spec.optimization.optimizer;
  settings.adam.weight_decay = spec.optimization.weight_decay;
  settings.sgd = {spec.optimization.momentum, spec.optimization.weight_decay};
  settings.precision = spec.precision;
  return settings;
}

Learner::Learner(std::unique_ptr<Network> network, Collective& gang, const LearnerSettings& settings)
    : network_(std::move(network)),
      gang_(gang),
      precision_(settings.precision),
      optimiser_(MakeOptimiser(network_->parameters(), settings)),
      dropouts_(CountDropouts(*network_)),
      teaching_(settings.graphs, "teach"),
      differentiating_(settings.graphs, "differentiate") {}

Learner::Pass Learner::Forward(const Minibatch& batch, const at::Tensor& masks, double temperature,
                               const Expectation& expect) {
  Pass pass;
  LossSum loss;
  if (batch.images.size(0) > 0) {
    std::optional<DropoutMasks> drawn;
    if (masks.defined()) drawn.emplace(masks, batch.first);
    const at::Tensor logits = TrainingLogits(batch.images, drawn);
    const auto rows = static_cast<double>(batch.rows);
    const at::Tensor log_p = at::log_softmax(logits.detach() / temperature, 1);
    const at::Tensor targets = expect ? expect(log_p, batch.targets) : batch.targets;
    loss.Add(-(targets * log_p).sum(), temperature, temperature, rows);
    pass.outputs.push_back(logits);
    pass.seeds.push_back(log_p.exp().mul_(targets.sum(1, true)).sub_(targets).mul_(temperature / rows));
  }
  pass.loss = loss.Total();
  return pass;
}

void Learner::Descend(const at::Tensor& rate) {
  ParameterArena& parameters = network_->parameters();
  std::visit([&](auto& optimiser) { optimiser.Step(parameters.flat(), parameters.gradient(), rate); }, optimiser_);
}

StepNumbers Learner::MakeNumbers(double learning_rate, const std::optional<RngStream>& dropout) const {
  StepNumbers numbers{MakeRate(learning_rate), {}};
  if (dropout && dropouts_ > 0) numbers.masks = DropoutMasks::Keys(*dropout, dropouts_);
  return numbers;
}

Result<at::Tensor> Learner::Step(const Minibatch& batch, const StepNumbers& numbers, double temperature,
                                 const Expectation& expect) {
  const Pass pass = Forward(batch, numbers.masks, temperature, expect);
  if (batch.images.size(0) == 0) network_->CountBatch();
  RETORT_ASSIGN_OR_RETURN(const auto statistics,
                          network_->buffers().BeginShareInGang(batch.images.size(0), batch.rows, gang_));
  RETORT_RETURN_IF_ERROR(SumGradients(pass.outputs, pass.seeds, network_->parameters(), gang_));
  if (statistics != nullptr) RETORT_RETURN_IF_ERROR(statistics->Wait());
  Descend(numbers.rate);
  return pass.loss;
}

Result<at::Tensor> Learner::Teach(const Minibatch& batch, double learning_rate, const std::optional<RngStream>& dropout,
                                  double temperature, const Expectation& expect) {
  const StepNumbers numbers = MakeNumbers(learning_rate, dropout);
  const auto step = [&](const Tensors& in) -> Result<Tensors> {
    RETORT_ASSIGN_OR_RETURN(at::Tensor loss,
                            Step({in[0], in[1], batch.first, batch.rows}, {in[2], in[3]}, temperature, expect));
    return Tensors{std::move(loss)};
  };
  RETORT_ASSIGN_OR_RETURN(
      Tensors out, teaching_.Run({batch.images, batch.targets, numbers.rate, numbers.masks}, step,
                                 {temperature, static_cast<double>(batch.rows), static_cast<double>(batch.first)}));
  return std::move(out[0]);
}

at::Tensor Learner::Differentiate(const Minibatch& batch, const std::optional<RngStream>& dropout, double temperature) {
  ParameterArena& parameters = network_->parameters();
  if (batch.images.size(0) == 0) {
    parameters.gradient().zero_();
    network_->CountBatch();
    return LossSum().Total();
  }
  const auto differentiate = [&](const Tensors& in) -> Result<Tensors> {
    const Pass pass = Forward({in[0], in[1], batch.first, batch.rows}, in[2], temperature, {});
    parameters.Gather(ComputeVectorJacobian(pass.outputs, pass.seeds, parameters.leaves()));
    return Tensors{pass.loss};
  };
  const StepNumbers numbers = MakeNumbers(0, dropout);
  return differentiating_
      .Run({batch.images, batch.targets, numbers.masks}, differentiate,
           {temperature, static_cast<double>(batch.rows), static_cast<double>(batch.first)})
      .value()[0];
}

Status Learner::BeginSum(std::int64_t own_rows, std::int64_t rows) {
  if (gang_.size() == 1) return {};
  RETORT_ASSIGN_OR_RETURN(auto gradient, gang_.BeginAllReduceSum(network_->parameters().gradient()));
  summing_.push_back(std::move(gradient));
  RETORT_ASSIGN_OR_RETURN(auto statistics, network_->buffers().BeginShareInGang(own_rows, rows, gang_));
  if (statistics != nullptr) summing_.push_back(std::move(statistics));
  return {};
}

Status Learner::Apply(double learning_rate) {
  for (const auto& sum : std::exchange(summing_, {})) RETORT_RETURN_IF_ERROR(sum->Wait());
  Descend(MakeRate(learning_rate));
  return {};
}

double ComputeRateAt(const TrialSpec& spec, std::int64_t step, std::int64_t steps) {
  switch (spec.optimization.schedule) {
    case Schedule::cosine:
      return spec.optimization.lr * HoldThenCosine(step, steps, spec.optimization.lr_hold, spec.optimization.lr_end);
    case Schedule::step:
      return spec.optimization.lr * StepDown(step, steps, spec.optimization.lr_drops);
    case Schedule::linear:
      break;
  }
  return spec.optimization.lr * HoldThenLinear(step, steps, spec.optimization.lr_hold, spec.optimization.lr_end);
}

at::Tensor Learner::TrainingLogits(const at::Tensor& images, const std::optional<DropoutMasks>& masks) {
  const AutocastScope scope(precision_, images.device());
  return network_->Train(images, masks).logits.to(at::kFloat);
}

void Learner::Register(TrainState& state, const std::string& prefix) {
  state.Add(prefix + "parameters", network_->parameters().flat());
  if (BufferArena& buffers = network_->buffers(); !buffers.empty()) {
    state.Add(prefix + "statistics", buffers.flat());
    state.Add(prefix + "batches", buffers.counts());
  }
  if (at::Tensor& constants = network_->buffers().constants(); constants.numel() > 0)
    state.Add(prefix + "constants", constants);
  const std::string own = prefix + (std::holds_alternative<Adam>(optimiser_) ? "adam/" : "sgd/");
  std::visit([&](auto& optimiser) { optimiser.Register(state, own); }, optimiser_);
}

void Learner::ResetOptimiser() {
  std::visit([](auto& optimiser) { optimiser.Reset(); }, optimiser_);
}

at::Tensor MakeOneHotTargets(const at::Tensor& labels, std::int64_t classes, double smoothing) {
  const at::Tensor hot = at::one_hot(labels, classes).to(at::kFloat);
  return smoothing == 0 ? hot : hot * (1 - smoothing) + smoothing / static_cast<double>(classes);
}

}  // namespace retort::worker
