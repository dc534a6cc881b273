#include "worker/methods/procedural_source.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <array>

#include "experiments/spec/rng_stream.h"
#include "worker/distill/procedural_pictures.h"

namespace retort::worker {
namespace {

using Kinds = std::array<ProceduralKind, 2>;

Kinds KindsOf(Pictures pictures) {
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
  const RowShare own = ShareOf(rows, gang_);
  const RngStream stream = StreamOf(step);
  const Kinds kinds = KindsOf(spec_.pictures);
  at::Tensor images = at::empty({own.count, shape_.channels, shape_.height, shape_.width}, at::kFloat);
  // Row r is picture r / 2 of its kind.
  for (std::int64_t kind = 0; kind < 2; ++kind) {
    const std::int64_t first = (own.first + 1 - kind) / 2, last = (own.first + own.count + 1 - kind) / 2;
    if (last == first) continue;
    const at::Tensor drawn = ProceduralPictures(kinds[static_cast<std::size_t>(kind)], last - first, shape_.channels,
                                                shape_.height, RowStream(stream.Lane(static_cast<std::uint64_t>(kind)), first));
    const std::int64_t place = 2 * first + kind - own.first;
    images.slice(0, place, own.count, 2).copy_(drawn);
  }
  return Normalised(images);
}

at::Tensor ProceduralSource::OfFirstKind(std::int64_t step, std::int64_t rows) const {
  return Normalised(ProceduralPictures(KindsOf(spec_.pictures)[0], rows, shape_.channels, shape_.height,
                                       RowStream(StreamOf(step).Lane(0), 0)));
}

RngStream ProceduralSource::StreamOf(std::int64_t step) const {
  return {spec_.seed, Purpose::latents, static_cast<std::uint64_t>(step)};
}

at::Tensor ProceduralSource::Normalised(at::Tensor pictures) const {
  return pictures.sub_(mean_).div_(std_).to(device_);
}

}  // namespace retort::worker
