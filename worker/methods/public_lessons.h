// A student that is fitted to labels released for public pictures, and what spreads these labels over all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "worker/data/dataset.h"
#include "worker/methods/learner.h"
#include "worker/methods/method.h"

namespace retort::worker {

class PublicLessons {
 public:
  // What `inputs` refers to outlives it.
  PublicLessons(const MethodInputs& inputs, std::unique_ptr<Network> student);

  [[nodiscard]] Learner& learner() { return learner_; }
  [[nodiscard]] const Learner& learner() const { return learner_; }
  // f32 [public pictures, classes]: what they teach, in their order, smoothed by Aim.
  void Register(TrainState& state);

  // Distributions over the classes for the first rows of the public pictures, f32 [rows, classes]. A row of zeros says
  // nothing, and its picture is not taught.
  void Aim(const at::Tensor& distributions);
  // The student's log-probabilities for all public pictures, f32 [public pictures, classes].
  [[nodiscard]] at::Tensor StudentSays() const;
  // A student that has learned nothing, as it would be drawn for the second time.
  void StartAfresh();
  // The first class of every row of scores f32 [rows, classes], or by spec.balance as many rows of each: one-hot f32
  // [rows, classes]. Rows of equal scores say nothing: they are zero, and no class counts them as its own.
  [[nodiscard]] at::Tensor Labels(const at::Tensor& scores) const;

  // What was released for the first rows, f32 [rows, classes] of any scale, spread over all public pictures by
  // spec.neighbours and spec.propagation, and their Labels: one-hot f32 [public pictures, classes]. The same on every
  // member of the gang. Errors: of the gang.
  [[nodiscard]] Result<at::Tensor> Propagated(const at::Tensor& released);

  // The same by RegressedVotes. `noise`: the standard deviation of an entry. Errors: of the gang; usage, where something
  // released is not finite.
  [[nodiscard]] Result<at::Tensor> Regressed(const at::Tensor& released, double noise);

  // Optimiser step `within` of spec.label_steps, at the trial's step `step`, on student_batch of the first `pool` public
  // pictures, of those that are taught; now and then the gang's loss is appended to `series` as train.student_loss.
  // Errors: of decoding and of the gang; usage, where none of them is taught.
  [[nodiscard]] Status Fit(std::int64_t step, std::int64_t within, std::int64_t pool, Series& series);

 private:
  [[nodiscard]] Result<at::Tensor> Teaching(std::int64_t pool);

  const TrialSpec& spec_;
  const Dataset& data_;
  Collective& gang_;
  Learner learner_;
  at::Tensor targets_;
  at::Tensor teaching_;  // i64, on the CPU: rows of targets_ that are not zero; undefined until they are asked for
};

}  // namespace retort::worker
