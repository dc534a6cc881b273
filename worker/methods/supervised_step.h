// The step that all training on labelled images repeats: rows, their images augmented, their targets, the optimiser.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "worker/data/examples.h"
#include "worker/gang/row_share.h"
#include "worker/methods/learner.h"

namespace retort::worker {

struct SupervisedStep {
  at::Tensor rows;        // i64 [n] of the examples, the whole batch
  std::int64_t step = 0;  // keys augmentation and dropout
  std::uint64_t lane = 0; // the same, of several networks trained by one trial
  double rate = 0;        // learning rate
};

// What rows i64 [own] are taught: f32 [own, classes].
using RowTargets = std::function<at::Tensor(const at::Tensor& rows)>;

// One step of `learner` on this member's share of the batch; `expect` as for Learner::Teach. Returns its part of the
// loss. Errors: of decoding and of the gang.
[[nodiscard]] Result<double> TeachRows(const TrialSpec& spec, const PixelScale& scale, const Examples& examples,
                                       const SupervisedStep& at, const RowTargets& targets, Learner& learner,
                                       Collective& gang, const Expectation& expect = {});

}  // namespace retort::worker
