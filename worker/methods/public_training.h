// Fits a student to labels that were released for public images, and spreads these labels over all public images
// where that is asked for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/data/dataset.h"
#include "worker/methods/method.h"
#include "worker/training/learner.h"

namespace retort::worker {

class PublicTraining {
 public:
  // What `inputs` refers to outlives it.
  PublicTraining(const MethodInputs& inputs, std::unique_ptr<Network> student);

  [[nodiscard]] Learner& learner() { return learner_; }
  [[nodiscard]] const Learner& learner() const { return learner_; }
  // Registers the student and the targets, f32 [public images, classes].
  void Register(TrainState& state);

  // Makes distributions over the classes, f32 [rows, classes], the targets of the first rows of the public images,
  // with spec.labels.smoothing. A image whose row is zeros is not trained on.
  void SetTargets(const at::Tensor& distributions);
  // The student's log-probabilities for all public images, f32 [public images, classes].
  [[nodiscard]] at::Tensor StudentLogProbabilities() const;
  // Draws the student anew, from the stream of a second network, and resets its optimiser.
  void ResetStudent();
  // The first class of every row of scores f32 [rows, classes], or by spec.distill.balance as many rows of each:
  // one-hot f32 [rows, classes]. Rows of equal scores become zeros, and no class counts them.
  [[nodiscard]] at::Tensor Labels(const at::Tensor& scores) const;

  // What was released for the first rows, f32 [rows, classes] of any scale, spread over all public images by
  // spec.labels.neighbours and spec.labels.propagation, and their Labels: one-hot f32 [public images, classes]. The
  // same on every member of the gang. Errors: of the gang.
  [[nodiscard]] Result<at::Tensor> PropagateLabels(const at::Tensor& released);

  // The same by RegressVotes. `noise`: the standard deviation of an entry. Errors: of the gang; usage, where something
  // released is not finite.
  [[nodiscard]] Result<at::Tensor> RegressLabels(const at::Tensor& released, double noise);

  // Optimiser step `within` of spec.labels.label_steps, at the trial's step `step`, on student_batch of the first
  // `pool` public images that have a target; every few steps the gang's loss is appended to `series` as
  // train.student_loss. Errors: of decoding and of the gang; usage, where none of them has a target.
  [[nodiscard]] Status Fit(std::int64_t step, std::int64_t within, std::int64_t pool, Series& series);

 private:
  [[nodiscard]] Result<at::Tensor> FindTaughtRows(std::int64_t pool);

  const TrialSpec& spec_;
  const Dataset& data_;
  Collective& gang_;
  Learner learner_;
  at::Tensor targets_;
  at::Tensor taught_rows_;  // i64, on the CPU: rows of targets_ that are not zero; undefined until they are asked for
};

}  // namespace retort::worker
