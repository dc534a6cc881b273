// What RONA's student obtains from its teacher, in each reading.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "worker/data/examples.h"
#include "worker/distill/hint_learning.h"
#include "worker/methods/method.h"
#include "worker/models/layer_plan.h"
#include "worker/release/answers.h"
#include "worker/training/learner.h"

namespace retort::worker {

// RONA's auxiliary teacher: a network trained on the public split alone, whose answers cost no privacy.
class AuxiliaryTeacher {
 public:
  // Learns labels by Adam. `gang` and `images` outlive the teacher.
  AuxiliaryTeacher(std::unique_ptr<Network> network, const Examples& images, Collective& gang, Precision precision);

  [[nodiscard]] Learner& learner() { return learner_; }

  // After its training: f32 [rows, classes] of public rows (i64), in evaluation mode. All public images are asked about
  // the first time.
  [[nodiscard]] at::Tensor FindLogits(const at::Tensor& rows);
  // f32 [rows, channels, height, width] of its hint layer.
  [[nodiscard]] at::Tensor ComputeHint(const at::Tensor& images) const;

 private:
  const Examples& images_;
  Learner learner_;
  Result<MiddleLayer> hint_;
  at::Tensor logits_;  // of all public images; undefined until asked for
};

// Logits f32 [n, classes] of all images, in evaluation mode, in fixed batches.
[[nodiscard]] at::Tensor ComputeAllLogits(const Network& network, const Examples& images);

// Called by every member of the gang alike. At most one release a step.
class RonaTeacher {
 public:
  virtual ~RonaTeacher() = default;
  // Of hint learning on `batch`: the gradient that HintLearning::Step takes. `adapted` is what hints.Adapted made of
  // the batch, whose graph is freed.
  [[nodiscard]] virtual Result<at::Tensor> HintGradient(const QueryBatch& batch, const at::Tensor& adapted,
                                                        HintLearning& hints) = 0;
  // Of distillation learning: f32 [own, classes], to be injected at the student's `logits` f32 [own, classes].
  [[nodiscard]] virtual Result<at::Tensor> LogitGradient(const QueryBatch& batch, const at::Tensor& logits) = 0;
  // Asks about public rows `batch.rows`, answers that are kept. Only where answers are votes.
  [[nodiscard]] virtual Status Ask(const QueryBatch& batch);
  // i64: public rows that were asked, in that order. Only where answers are votes.
  [[nodiscard]] virtual std::vector<std::int64_t> Asked() const { return {}; }
  virtual void Register(TrainState&, const std::string&) {}
  // Names of the facts that hold beside those of every trial without a generator.
  [[nodiscard]] virtual std::vector<std::pair<std::string_view, bool>> Facts() const { return {}; }
};

// Makes the one that reading and teacher of `inputs` call for. `auxiliary` outlives it; null where nothing needs it:
// adaptive bounds do, and the hints of the sound reading. Error: usage; those of loading the teacher.
[[nodiscard]] Result<std::unique_ptr<RonaTeacher>> MakeRonaTeacher(const MethodInputs& inputs,
                                                                   AuxiliaryTeacher* auxiliary);

}  // namespace retort::worker
