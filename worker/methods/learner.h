// A network with its optimiser: the step that every method repeats.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "experiments/spec/status.h"
#include "worker/models/network.h"
#include "worker/optim/adam.h"
#include "worker/train_state.h"

namespace retort::worker {

class Learner {
 public:
  explicit Learner(std::unique_ptr<Network> network, const AdamSettings& settings = {});

  // One Adam step on T^2 mean_i CE(softmax(z_i / T), y_i): injects T (p sum(y) - y) / rows at the logits z, so
  // y need not be a distribution. images f32 [rows, C, H, W]; targets f32 [rows, classes]. Returns the loss.
  double Teach(const at::Tensor& images, const at::Tensor& targets, double learning_rate,
               const std::optional<RngStream>& dropout, double temperature = 1);
  // One Adam step with `gradient` [rows, classes] injected at the logits of this forward pass, which
  // `gradient_of` computes from the (detached) logits.
  template <typename GradientOf>
  void Inject(const at::Tensor& images, double learning_rate, const std::optional<RngStream>& dropout,
              const GradientOf& gradient_of) {
    const NetworkOutput out = network_->Forward(images, dropout);
    Apply(out.logits, gradient_of(out.logits.detach()), learning_rate);
  }

  [[nodiscard]] Network& network() { return *network_; }
  [[nodiscard]] const Network& network() const { return *network_; }
  // State names: prefix + "parameters", prefix + "adam/...".
  void Register(TrainState& state, const std::string& prefix);
  void ResetOptimiser() { adam_.Reset(); }

 private:
  void Apply(const at::Tensor& logits, const at::Tensor& gradient, double learning_rate);
  std::unique_ptr<Network> network_;
  Adam adam_;
};

// f32 [n, classes] from labels i64 [n]: 1 - smoothing + smoothing / classes on the label, smoothing / classes
// elsewhere.
[[nodiscard]] at::Tensor OneHotTargets(const at::Tensor& labels, std::int64_t classes, double smoothing = 0);

}  // namespace retort::worker
