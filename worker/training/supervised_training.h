// Supervised training on labelled images: which rows a step takes, their augmented images, and the step of the learner.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "experiments/base/rng_stream.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/data/examples.h"
#include "worker/gang/row_share.h"
#include "worker/tensors/rng_streams.h"
#include "worker/training/learner.h"

namespace retort::worker {

// Rows `rows` (i64 [k]) of `examples`, normalised by `scale`, augmented by spec.inputs.augment and spec.inputs.shift:
// f32 [k, C, H, W]. `places`: theirs in the whole batch of `step`, so that a gang's members see what one alone would
// (MakeAugmentedBatch). `seed`: the trial's where there is none. Error: that of decoding an image.
[[nodiscard]] Result<at::Tensor> MakeTrainingImages(const TrialSpec& spec, const PixelScale& scale,
                                                    const Examples& examples, const at::Tensor& rows, std::int64_t step,
                                                    const RowPlaces& places,
                                                    std::optional<std::uint64_t> seed = std::nullopt);

// Batches of rows in epochs, each epoch in an order of its own.
class EpochBatches {
 public:
  // rows i64 [n], n >= 1, on the device where batches are wanted. Epoch e is DrawPermutation(n) of
  // (seed, Purpose::batches, e, lane). Batches of `batch` rows, fewer where n is less; the last of an epoch is what
  // is left.
  EpochBatches(at::Tensor rows, std::int64_t batch, std::uint64_t seed, std::uint64_t lane = 0);

  [[nodiscard]] std::int64_t per_epoch() const { return per_epoch_; }
  // Rows of step `step`, counted from the first epoch: i64 [<= batch].
  [[nodiscard]] at::Tensor Of(std::int64_t step);

 private:
  at::Tensor rows_;
  std::int64_t batch_, per_epoch_;
  std::uint64_t seed_, lane_;
  std::int64_t epoch_ = -1;  // of order_
  at::Tensor order_;
};

// Private images as queries (DPDFD section 4.4, direct training): the student sees them as they are, and no claim about
// them has a bound. Returns the rows of the private images of step `step`, i64 [spec.batch]: the examples in an order
// that the seed fixes, and in another one after each pass. `examples` >= spec.batch.
[[nodiscard]] at::Tensor ChoosePrivateRows(const TrialSpec& spec, std::int64_t examples, std::int64_t step);

struct SupervisedStep {
  at::Tensor rows;         // i64 [n] of the examples, the whole batch
  std::int64_t step = 0;   // keys augmentation and dropout
  std::uint64_t lane = 0;  // the same, of several networks trained by one trial
  double rate = 0;         // learning rate
};

// The targets of rows i64 [own]: f32 [own, classes].
using RowTargets = std::function<at::Tensor(const at::Tensor& rows)>;

// One step of `learner` on this member's share of the batch; `expect` as for Learner::Teach. Returns its part of the
// loss, as Learner::Teach. Errors: of decoding and of the gang.
[[nodiscard]] Result<at::Tensor> TeachRows(const TrialSpec& spec, const PixelScale& scale, const Examples& examples,
                                           const SupervisedStep& at, const RowTargets& targets, Learner& learner,
                                           Collective& gang, const Expectation& expect = {});

}  // namespace retort::worker
