#include "worker/methods/learner.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>

#include <utility>

#include "worker/gradients.h"

namespace retort::worker {

Learner::Learner(std::unique_ptr<Network> network, const AdamSettings& settings)
    : network_(std::move(network)), adam_(network_->parameters().flat().numel(), settings) {}

void Learner::Apply(const at::Tensor& logits, const at::Tensor& gradient, double learning_rate) {
  ParameterArena& parameters = network_->parameters();
  parameters.Gather(VectorJacobian({logits}, {gradient}, parameters.leaves()));
  adam_.Step(parameters.flat(), parameters.gradient(), learning_rate);
}

double Learner::Teach(const at::Tensor& images, const at::Tensor& targets, double learning_rate,
                      const std::optional<RngStream>& dropout, double temperature) {
  double loss = 0;
  Inject(images, learning_rate, dropout, [&](const at::Tensor& logits) {
    const auto rows = static_cast<double>(logits.size(0));
    const at::Tensor log_p = at::log_softmax(logits / temperature, 1);
    loss = -(targets * log_p).sum().item<double>() * temperature * temperature / rows;
    return log_p.exp().mul_(targets.sum(1, true)).sub_(targets).mul_(temperature / rows);
  });
  return loss;
}

void Learner::Register(TrainState& state, const std::string& prefix) {
  state.Add(prefix + "parameters", network_->parameters().flat());
  adam_.Register(state, prefix + "adam/");
}

at::Tensor OneHotTargets(const at::Tensor& labels, std::int64_t classes, double smoothing) {
  const at::Tensor hot = at::one_hot(labels, classes).to(at::kFloat);
  return smoothing == 0 ? hot : hot * (1 - smoothing) + smoothing / static_cast<double>(classes);
}

}  // namespace retort::worker
