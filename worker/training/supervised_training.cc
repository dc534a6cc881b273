#include "worker/training/supervised_training.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "experiments/base/status.h"
#include "worker/data/augmentation.h"

namespace retort::worker {

namespace {

constexpr int kCropBorder = 4;  // pixels, usual for 32x32 images

AugmentationKind ChooseAugmentation(const TrialSpec& spec) {
  switch (spec.inputs.augment) {
    case Augment::shift:
      return spec.inputs.shift == 0 ? AugmentationKind::none : AugmentationKind::shift;
    case Augment::crop_flip:
      return AugmentationKind::crop_flip;
    case Augment::random_resized_crop:
      return AugmentationKind::random_resized_crop;
    case Augment::affine:
      return AugmentationKind::affine;
    case Augment::elastic:
      return AugmentationKind::elastic;
    case Augment::none:
      break;
  }
  return AugmentationKind::none;
}

}  // namespace

Result<at::Tensor> MakeTrainingImages(const TrialSpec& spec, const PixelScale& scale, const Examples& examples,
                                      const at::Tensor& rows, std::int64_t step, const RowPlaces& places,
                                      std::optional<std::uint64_t> seed) {
  Augmentation augmentation;
  augmentation.kind = ChooseAugmentation(spec);
  if (augmentation.kind == AugmentationKind::none) return examples.Batch(rows);
  augmentation.reach = augmentation.kind == AugmentationKind::crop_flip ? kCropBorder : spec.inputs.shift;
  augmentation.scale = scale;
  return MakeAugmentedBatch(examples, rows, augmentation, seed.value_or(spec.seed), static_cast<std::uint64_t>(step),
                            places);
}

EpochBatches::EpochBatches(at::Tensor rows, std::int64_t batch, std::uint64_t seed, std::uint64_t lane)
    : rows_(std::move(rows)),
      batch_(std::min(batch, rows_.size(0))),
      per_epoch_((rows_.size(0) + batch_ - 1) / batch_),
      seed_(seed),
      lane_(lane) {
  RETORT_CHECK(rows_.size(0) > 0 && batch > 0);
}

at::Tensor EpochBatches::Of(std::int64_t step) {
  const std::int64_t epoch = step / per_epoch_, first = step % per_epoch_ * batch_;
  if (epoch != epoch_) {
    epoch_ = epoch;
    const RngStream stream(seed_, Purpose::batches, static_cast<std::uint64_t>(epoch), lane_);
    const at::Tensor order = at::tensor(DrawPermutation(rows_.size(0), stream), at::kLong).to(rows_.device());
    order_ = rows_.index_select(0, order);
  }
  return order_.narrow(0, first, std::min(batch_, rows_.size(0) - first));
}

at::Tensor ChoosePrivateRows(const TrialSpec& spec, std::int64_t examples, std::int64_t step) {
  RETORT_CHECK(spec.batch >= 1 && spec.batch <= examples);
  const std::int64_t per_pass = examples / spec.batch;  // rows beyond the last whole batch are not used
  const RngStream order(spec.seed, Purpose::batches, static_cast<std::uint64_t>(step / per_pass));
  const std::vector<std::int64_t> places = DrawPermutation(examples, order);
  const auto first = places.begin() + step % per_pass * spec.batch;
  return at::tensor(std::vector<std::int64_t>(first, first + spec.batch), at::kLong);
}

Result<at::Tensor> TeachRows(const TrialSpec& spec, const PixelScale& scale, const Examples& examples,
                             const SupervisedStep& at, const RowTargets& targets, Learner& learner, Collective& gang,
                             const Expectation& expect) {
  const RowShare share = ComputeRowShare(at.rows.size(0), gang);
  const at::Tensor rows = Own(at.rows, share);
  RETORT_ASSIGN_OR_RETURN(const at::Tensor images,
                          MakeTrainingImages(spec, scale, examples, rows, at.step, share.first));
  const RngStream dropout(spec.seed, Purpose::dropout, static_cast<std::uint64_t>(at.step), at.lane);
  return learner.Teach({images, targets(rows), share.first, at.rows.size(0)}, at.rate, dropout, 1, expect);
}

}  // namespace retort::worker
