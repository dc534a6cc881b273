#include "worker/methods/mixed_source.h"

#include <ATen/ops/tensor.h>

#include <vector>

#include "worker/data/picture_mixes.h"
#include "worker/data/shared_pictures.h"
#include "worker/methods/training_images.h"
#include "worker/rng_streams.h"

namespace retort::worker {
namespace {

constexpr std::uint64_t kPicks = 4;  // draws of a row's lane before it are Mixed's

RngStream StreamOf(const TrialSpec& spec, std::int64_t step) {
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
  const RowShare own = ShareOf(rows, gang_);
  RETORT_ASSIGN_OR_RETURN(const at::Tensor first, Drawn(step, 0, own));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor second, Drawn(step, 1, own));
  return Mixed(first, second, RowStream(StreamOf(spec_, step), own.first));
}

Result<at::Tensor> MixedSource::Drawn(std::int64_t step, std::int64_t which, const RowShare& own) const {
  const RngStream stream = StreamOf(spec_, step);
  std::vector<std::int64_t> places;
  for (std::int64_t i = own.first; i < own.first + own.count; ++i)
    places.push_back(stream.Lane(static_cast<std::uint64_t>(i))
                         .Below(kPicks + static_cast<std::uint64_t>(which), data_.public_split.size()));
  // Both pictures of a row are augmented by numbers of their own.
  return TrainingImages(spec_, data_.scale, data_.public_split, at::tensor(places, at::kLong), 2 * step + which, own.first);
}

}  // namespace retort::worker
