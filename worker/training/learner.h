// A network with its optimiser, and one training step of both.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/gang/row_share.h"
#include "worker/models/network.h"
#include "worker/optim/optimisers.h"
#include "worker/tensors/rng_streams.h"
#include "worker/tensors/step_graphs.h"
#include "worker/tensors/train_state.h"

namespace retort::worker {

// This member's rows of a batch: those from `first` on, of `rows` in all.
struct Minibatch {
  at::Tensor images;   // f32 [own, C, H, W]
  at::Tensor targets;  // f32 [own, classes]
  std::int64_t first = 0;
  std::int64_t rows = 0;
};
// This member's part of a batch that every member holds whole.
[[nodiscard]] Minibatch OwnMinibatch(const at::Tensor& images, const at::Tensor& targets, const Collective& gang);

struct LearnerSettings {
  Optimizer optimizer = Optimizer::adam;
  AdamSettings adam;
  SgdSettings sgd;
  Precision precision = Precision::float32;  // of the network's arithmetic; the optimiser's is float32
  StepGraphs* graphs = nullptr;              // of the trial; null: steps are not recorded
};
// The settings that the trial's keys ask for.
[[nodiscard]] LearnerSettings MakeLearnerSettings(const TrialSpec& spec, StepGraphs* graphs = nullptr);

// What a step is given besides its batch, on the CPU, or on the network's device where that has recorded the step.
struct StepNumbers {
  at::Tensor rate;   // f64 []: learning rate
  at::Tensor masks;  // DropoutMasks::Keys; undefined: no dropout
};

// Computes from the network's log_p and a batch's annotations, both f32 [rows, classes], the targets that it is trained
// on.
using Expectation = std::function<at::Tensor(const at::Tensor& log_p, const at::Tensor& targets)>;

// Every member of a gang holds the same parameters, moments and running statistics, bit for bit. Batch norms
// normalise by this member's rows alone; their running statistics are the mean over the gang, by rows.
class Learner {
 public:
  // `gang` outlives the learner.
  Learner(std::unique_ptr<Network> network, Collective& gang, const LearnerSettings& settings = {});

  // One step of the optimiser on T^2 mean_i CE(softmax(z_i / T), y_i) over the whole batch: injects
  // T (p sum(y) - y) / rows at the logits z, so y need not be a distribution. y: the batch's targets, or what
  // `expect` makes of them. Returns this member's part of the loss, f64 [], until the next step; the parts sum to it,
  // and reading one waits for the device. Error: of the gang.
  [[nodiscard]] Result<at::Tensor> Teach(const Minibatch& batch, double learning_rate,
                                         const std::optional<RngStream>& dropout, double temperature = 1,
                                         const Expectation& expect = {});
  // The same by numbers that are tensors already, as a part of a larger region.
  [[nodiscard]] StepNumbers MakeNumbers(double learning_rate, const std::optional<RngStream>& dropout) const;
  [[nodiscard]] Result<at::Tensor> Step(const Minibatch& batch, const StepNumbers& numbers, double temperature = 1,
                                        const Expectation& expect = {});

  // Teach in three parts, for gangs whose members teach different networks. Differentiate puts this member's part
  // of the gradient into the arena, without communication in the gang; BeginSum sets out to sum gradients and running
  // statistics over the gang, while the caller computes; Apply waits for the sums and steps. `own_rows`: those of the
  // batch of `rows` that this member differentiated.
  [[nodiscard]] at::Tensor Differentiate(const Minibatch& batch, const std::optional<RngStream>& dropout,
                                         double temperature = 1);
  [[nodiscard]] Status BeginSum(std::int64_t own_rows, std::int64_t rows);
  [[nodiscard]] Status Apply(double learning_rate);

  [[nodiscard]] Network& network() { return *network_; }
  [[nodiscard]] const Network& network() const { return *network_; }
  // State names: prefix + "parameters", prefix + "adam/..." or "sgd/..."; with batch norms prefix + "statistics"
  // and "batches".
  void Register(TrainState& state, const std::string& prefix);
  void ResetOptimiser();

 private:
  // What a batch is differentiated through; empty without rows.
  struct Pass {
    std::vector<at::Tensor> outputs, seeds;
    at::Tensor loss;
  };
  [[nodiscard]] Pass Forward(const Minibatch& batch, const at::Tensor& masks, double temperature,
                             const Expectation& expect);
  void Descend(const at::Tensor& rate);
  // f32, part of the graph to the parameters.
  [[nodiscard]] at::Tensor TrainingLogits(const at::Tensor& images, const std::optional<DropoutMasks>& masks);
  std::unique_ptr<Network> network_;
  Collective& gang_;
  Precision precision_;
  std::variant<Adam, Sgd> optimiser_;
  std::int64_t dropouts_;                                   // layers of the network
  std::vector<std::unique_ptr<PendingOperation>> summing_;  // of BeginSum
  GraphRegion teaching_, differentiating_;
};

// The learning rate at step `step` of `steps`, as the trial's keys schedule it.
[[nodiscard]] double ComputeRateAt(const TrialSpec& spec, std::int64_t step, std::int64_t steps);

// f32 [n, classes] from labels i64 [n]: 1 - smoothing + smoothing / classes on the label, smoothing / classes
// elsewhere.
[[nodiscard]] at::Tensor MakeOneHotTargets(const at::Tensor& labels, std::int64_t classes, double smoothing = 0);

}  // namespace retort::worker
