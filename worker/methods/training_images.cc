#include "worker/methods/training_images.h"

#include "worker/data/augmentation.h"

namespace retort::worker {
namespace {

constexpr int kCropBorder = 4;  // pixels, as papers on 32x32 pictures have it

AugmentationKind KindOf(const TrialSpec& spec) {
  switch (spec.augment) {
    case Augment::shift:
      return spec.shift == 0 ? AugmentationKind::none : AugmentationKind::shift;
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

Result<at::Tensor> TrainingImages(const TrialSpec& spec, const PixelScale& scale, const Examples& examples, const at::Tensor& rows,
                                  std::int64_t step, const RowPlaces& places, std::optional<std::uint64_t> seed) {
  Augmentation augmentation;
  augmentation.kind = KindOf(spec);
  if (augmentation.kind == AugmentationKind::none) return examples.Batch(rows);
  augmentation.reach = augmentation.kind == AugmentationKind::crop_flip ? kCropBorder : spec.shift;
  augmentation.scale = scale;
  return AugmentedBatch(examples, rows, augmentation, seed.value_or(spec.seed), static_cast<std::uint64_t>(step), places);
}

}  // namespace retort::worker
