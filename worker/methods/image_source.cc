#include "worker/methods/image_source.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <array>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "worker/data/augmentation.h"
#include "worker/data/procedural_images.h"
#include "worker/data/split_overlap.h"
#include "worker/methods/generator_source.h"
#include "worker/tensors/rng_streams.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {

namespace {

constexpr std::uint64_t kPicks = 4;  // draws of a row's lane before it are Mixed's

RngStream StepStream(const TrialSpec& spec, std::int64_t step) {
  return {spec.seed, Purpose::mixes, static_cast<std::uint64_t>(step)};
}

}  // namespace

Result<std::unique_ptr<MixedSource>> MixedSource::Create(const TrialSpec& spec, const Dataset& data,
                                                         const Collective& gang) {
  if (data.public_split.size() == 0) return UsageError("Mixes of public pictures need some: split.public is empty.");
  RETORT_RETURN_IF_ERROR(RequireApart(data));
  return std::unique_ptr<MixedSource>(new MixedSource(spec, data, gang));
}

Result<at::Tensor> MixedSource::Images(std::int64_t step, std::int64_t rows) {
  const RowShare own = ComputeRowShare(rows, gang_);
  RETORT_ASSIGN_OR_RETURN(const at::Tensor first, Drawn(step, 0, own));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor second, Drawn(step, 1, own));
  return MixRows(first, second, RowStream(StepStream(spec_, step), own.first));
}

Result<at::Tensor> MixedSource::Drawn(std::int64_t step, std::int64_t which, const RowShare& own) const {
  const RngStream stream = StepStream(spec_, step);
  std::vector<std::int64_t> places;
  for (std::int64_t i = own.first; i < own.first + own.count; ++i)
    places.push_back(stream.Lane(static_cast<std::uint64_t>(i))
                         .Below(kPicks + static_cast<std::uint64_t>(which), data_.public_split.size()));
  // Both images of a row are augmented by numbers of their own.
  return MakeTrainingImages(spec_, data_.scale, data_.public_split, at::tensor(places, at::kLong), 2 * step + which,
                            own.first);
}

namespace {

using Kinds = std::array<ProceduralKind, 2>;

Kinds ChooseKinds(Pictures pictures) {
  switch (pictures) {
    case Pictures::natural:
      return {ProceduralKind::dead_leaves, ProceduralKind::noise};
    case Pictures::writing:
      break;
  }
  return {ProceduralKind::strokes, ProceduralKind::blobs};
}

at::Tensor OfChannels(const std::vector<double>& values) { return at::tensor(values, at::kFloat).view({1, -1, 1, 1}); }

}  // namespace

ProceduralSource::ProceduralSource(const TrialSpec& spec, const Dataset& data, const Collective& gang)
    : spec_(spec),
      gang_(gang),
      shape_(data.shape),
      device_(data.device),
      mean_(OfChannels(data.scale.mean)),
      std_(OfChannels(data.scale.std)) {
  RETORT_CHECK(shape_.height == shape_.width);
}

Result<at::Tensor> ProceduralSource::Images(std::int64_t step, std::int64_t rows) {
  const RowShare own = ComputeRowShare(rows, gang_);
  const RngStream stream = StepStream(step);
  const Kinds kinds = ChooseKinds(spec_.inputs.pictures);
  at::Tensor images = at::empty({own.count, shape_.channels, shape_.height, shape_.width}, at::kFloat);
  // Row r is image r / 2 of its kind.
  for (std::int64_t kind = 0; kind < 2; ++kind) {
    const std::int64_t first = (own.first + 1 - kind) / 2, last = (own.first + own.count + 1 - kind) / 2;
    if (last == first) continue;
    const at::Tensor drawn =
        DrawProceduralImages(kinds[static_cast<std::size_t>(kind)], last - first, shape_.channels, shape_.height,
                             RowStream(stream.Lane(static_cast<std::uint64_t>(kind)), first));
    const std::int64_t place = 2 * first + kind - own.first;
    images.slice(0, place, own.count, 2).copy_(drawn);
  }
  return Normalised(images);
}

at::Tensor ProceduralSource::ImagesOfFirstKind(std::int64_t step, std::int64_t rows) const {
  return Normalised(DrawProceduralImages(ChooseKinds(spec_.inputs.pictures)[0], rows, shape_.channels, shape_.height,
                                         RowStream(StepStream(step).Lane(0), 0)));
}

RngStream ProceduralSource::StepStream(std::int64_t step) const {
  return {spec_.seed, Purpose::latents, static_cast<std::uint64_t>(step)};
}

at::Tensor ProceduralSource::Normalised(at::Tensor pictures) const {
  return pictures.sub_(mean_).div_(std_).to(device_);
}

Result<std::unique_ptr<ImageSource>> MakeImageSource(const TrialSpec& spec, const Dataset& data, Collective& gang,
                                                     StepGraphs* graphs) {
  if (spec.source == QuerySource::procedural)
    return std::unique_ptr<ImageSource>(std::make_unique<ProceduralSource>(spec, data, gang));
  if (spec.source == QuerySource::public_mixes) {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<MixedSource> mixes, MixedSource::Create(spec, data, gang));
    return std::unique_ptr<ImageSource>(std::move(mixes));
  }
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<GeneratorSource> generator,
                          GeneratorSource::Create(spec, data.shape, gang, data.device, data.scale, graphs));
  return std::unique_ptr<ImageSource>(std::move(generator));
}

}  // namespace retort::worker
