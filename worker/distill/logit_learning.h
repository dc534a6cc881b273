// Learning from gradients at the logits that somebody else computes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "worker/distill/hint_learning.h"
#include "worker/gang/collective.h"
#include "worker/models/network.h"
#include "worker/optim/adam.h"
#include "worker/train_state.h"

namespace retort::worker {

class LogitLearning {
 public:
  // `student` and `gang` outlive this object.
  LogitLearning(Network& student, Collective& gang, const AdamSettings& adam, Precision precision);

  // f32 [own, classes], part of the graph. Moves running statistics: see StatisticsGuard.
  [[nodiscard]] at::Tensor TrainingLogits(const QueryBatch& batch, const RngStream& dropout);
  // One step of the optimiser along sum <seed, logits> over the whole batch. `seed` f32 [own, classes]; the graph of
  // `logits` is freed. Error: of the gang.
  [[nodiscard]] Status Step(const at::Tensor& logits, const at::Tensor& seed, const QueryBatch& batch,
                            double learning_rate);
  void Register(TrainState& state, const std::string& prefix) { adam_.Register(state, prefix); }

 private:
  Network& student_;
  Collective& gang_;
  Precision precision_;
  Adam adam_;
};

}  // namespace retort::worker
