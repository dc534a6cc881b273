// How RONA trains its student from a teacher. Hint learning (AAAI-19, Eq. 3): the student up to its guided layer, and
// behind it an adapter, learn to reproduce the output of a layer of the teacher.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/gang/collective.h"
#include "worker/models/layer_plan.h"
#include "worker/models/network.h"
#include "worker/optim/optimisers.h"
#include "worker/tensors/train_state.h"

namespace retort::worker {

// This member's rows of a batch of public images.
struct QueryBatch {
  std::int64_t step = 0;
  at::Tensor rows;         // i64 [batch]: rows of the public split, the whole batch
  std::int64_t first = 0;  // of the batch, the first row that is this member's
  at::Tensor images = {};  // f32 [own, C, H, W]
  [[nodiscard]] std::int64_t size() const { return rows.size(0); }
};

class HintLearning {
 public:
  // The adapter: a 1 x 1 convolution from the guided layer's channels to the hint's, its weights drawn from `stream`,
  // normal of deviation 0.1 truncated at two deviations, its biases 1. `student` and `gang` outlive this object.
  HintLearning(Network& student, const MiddleLayer& guided, std::int64_t hint_channels, Collective& gang,
               const RngStream& stream, const AdamSettings& adam, Precision precision);

  // r(g(x)) f32 [own, hint channels, height, width], part of the graph. Moves running statistics: see StatisticsGuard.
  [[nodiscard]] at::Tensor Adapted(const QueryBatch& batch, const RngStream& dropout);
  // f32 [size()]: <seed, adapted> differentiated by the parameters of the guided part and of the adapter, summed over
  // the gang. `seed` is of the shape of `adapted`, whose graph is freed. Error: of the gang.
  [[nodiscard]] Result<at::Tensor> ParameterGradient(const at::Tensor& adapted, const at::Tensor& seed);
  // One step of the optimiser along such a gradient.
  [[nodiscard]] Status Step(const at::Tensor& gradient, const QueryBatch& batch, double learning_rate);
  void Register(TrainState& state, const std::string& prefix);

 private:
  Network& student_;
  MiddleLayer guided_;
  Collective& gang_;
  Precision precision_;
  ParameterArena adapter_;
  Adam student_adam_, adapter_adam_;
};

// Trains a student along gradients at its logits that the caller computes.
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
