#include "worker/data/augmentation.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/images/prepared_image.h"
#include "worker/data/pixel_levels.h"
#include "worker/data/warping.h"

namespace retort::worker {

namespace {

struct Move {
  std::int64_t down, right;
};

Move DrawMove(std::int64_t row, int reach, const RowStream& rows) {
  const RngStream lane = rows.Lane(row);
  return {lane.Below(0, 2 * reach + 1) - reach, lane.Below(1, 2 * reach + 1) - reach};
}

// For images that only their device can read: each pixel is looked up in the image with a black
// border.
at::Tensor MovedOnDevice(const at::Tensor& in, int reach, const at::Tensor& black, const RowStream& rows) {
  const std::int64_t n = in.size(0), channels = in.size(1), height = in.size(2), width = in.size(3);
  const std::int64_t bordered_width = width + 2 * reach;
  at::Tensor bordered = at::empty({n, channels, height + 2 * reach, bordered_width}, in.options());
  bordered.copy_(black.to(in.device()).view({1, channels, 1, 1}));
  bordered.narrow(2, reach, height).narrow(3, reach, width).copy_(in);
  std::vector<std::int64_t> origins;
  for (std::int64_t i = 0; i < n; ++i) {
    const Move move = DrawMove(i, reach, rows);
    origins.push_back((reach - move.down) * bordered_width + reach - move.right);
  }
  const at::TensorOptions index = in.options().dtype(at::kLong);
  const at::Tensor pixel = (at::arange(height, index) * bordered_width).unsqueeze(1) + at::arange(width, index);
  const at::Tensor from = at::tensor(origins, index).view({n, 1, 1}) + pixel.view({1, 1, height * width});
  return bordered.view({n, channels, -1}).gather(2, from.expand({n, channels, -1})).view(in.sizes());
}

// One channel of one image.
void MovePlane(const float* from, std::int64_t height, std::int64_t width, const Move& move, float black, float* to) {
  std::fill_n(to, height * width, black);
  const std::int64_t first = std::max<std::int64_t>(0, move.right), last = std::min(width, width + move.right);
  if (last <= first) return;
  for (std::int64_t y = 0; y < height; ++y) {
    const std::int64_t source = y - move.down;
    if (source < 0 || source >= height) continue;
    std::memcpy(to + y * width + first, from + source * width + first - move.right,
                static_cast<std::size_t>(last - first) * sizeof(float));
  }
}

std::uint8_t ToLevel(float value, double mean, double std) {
  return static_cast<std::uint8_t>(std::clamp(std::lround((value * std + mean) * 255.0), 0L, 255L));
}

// Interleaved RGB of one image of planes; grey is repeated.
storage::DecodedImage ToImage(const float* planes, const ImageShape& shape, const PixelScale& scale) {
  storage::DecodedImage image;
  image.whole = {shape.height, shape.width};
  image.region = {0, 0, shape.height, shape.width};
  const std::int64_t plane = shape.height * shape.width;
  image.rgb.resize(static_cast<std::size_t>(plane) * 3 + storage::kImagePadding);
  for (std::int64_t i = 0; i < plane; ++i) {
    for (std::int64_t c = 0; c < 3; ++c) {
      const std::int64_t from = std::min(c, shape.channels - 1);
      const auto channel = static_cast<std::size_t>(from);
      image.rgb[static_cast<std::size_t>(i * 3 + c)] =
          ToLevel(planes[from * plane + i], scale.mean[channel], scale.std[channel]);
    }
  }
  return image;
}

at::Tensor Black(const PixelScale& scale) {
  std::vector<float> black;
  for (std::size_t c = 0; c < scale.mean.size(); ++c)
    black.push_back(static_cast<float>((0 / 255.0 - scale.mean[c]) / scale.std[c]));
  return at::tensor(black);
}

}  // namespace

at::Tensor MoveImages(const at::Tensor& images, int reach, const at::Tensor& black, const RowStream& rows) {
  if (reach == 0) return images;
  const at::Tensor in = images.contiguous();
  if (!in.is_cpu()) return MovedOnDevice(in, reach, black, rows);
  at::Tensor out = at::empty_like(in);
  const std::int64_t channels = in.size(1), height = in.size(2), width = in.size(3), plane = height * width;
  const float* source = in.const_data_ptr<float>();
  const float* border = black.const_data_ptr<float>();
  float* target = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < in.size(0); ++i) {
    const Move move = DrawMove(i, reach, rows);
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t at = (i * channels + c) * plane;
      MovePlane(source + at, height, width, move, border[c], target + at);
    }
  }
  return out;
}

at::Tensor MirrorImages(const at::Tensor& images, const RowStream& rows) {
  at::Tensor mirrored = at::empty({images.size(0)}, at::kBool);
  bool* flag = mirrored.mutable_data_ptr<bool>();
  for (std::int64_t i = 0; i < images.size(0); ++i) flag[i] = rows.Lane(i).Below(0, 2) == 1;
  return at::where(mirrored.to(images.device()).view({-1, 1, 1, 1}), images.flip(3), images);
}

storage::Region DrawCropBox(const storage::ImageSize& size, const RngStream& lane) {
  constexpr double kMinArea = 0.08, kMinAspect = 3.0 / 4.0, kMaxAspect = 4.0 / 3.0;
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  const double low = std::log(kMinAspect), high = std::log(kMaxAspect);
  for (std::uint64_t tried = 0; tried < 10; ++tried) {
    const double area = height * width * (kMinArea + (1 - kMinArea) * lane.Uniform(4 * tried));
    const double aspect = std::exp(low + (high - low) * lane.Uniform(4 * tried + 1));
    const auto w = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area * aspect)));
    const auto h = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area / aspect)));
    if (w < 1 || h < 1 || w > size.width || h > size.height) continue;
    return {lane.Below(4 * tried + 2, size.height - h + 1), lane.Below(4 * tried + 3, size.width - w + 1), h, w};
  }
  storage::Region box{0, 0, size.height, size.width};
  const double aspect = width / height;
  if (aspect < kMinAspect) box.height = static_cast<std::int64_t>(std::nearbyint(width / kMinAspect));
  if (aspect > kMaxAspect) box.width = static_cast<std::int64_t>(std::nearbyint(height * kMaxAspect));
  box.height = std::clamp<std::int64_t>(box.height, 1, size.height);
  box.width = std::clamp<std::int64_t>(box.width, 1, size.width);
  box.top = (size.height - box.height) / 2;
  box.left = (size.width - box.width) / 2;
  return box;
}

at::Tensor ResizeAtRandom(const at::Tensor& images, const PixelScale& scale, const RowStream& rows) {
  const at::Tensor in = images.cpu().contiguous();
  const ImageShape shape{in.size(1), in.size(2), in.size(3)};
  RETORT_CHECK(shape.channels == 1 || shape.channels == 3);
  const PixelLevels levels(shape.channels, scale);
  at::Tensor out = at::empty_like(in);
  const float* source = in.const_data_ptr<float>();
  float* target = out.mutable_data_ptr<float>();
  const std::int64_t plane = shape.height * shape.width;
  at::parallel_for(0, in.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const storage::DecodedImage image = ToImage(source + i * shape.size(), shape, scale);
      const storage::PreparedImage cut =
          storage::ResizeRegion(image, DrawCropBox(image.whole, rows.Lane(i)), image.whole, 3);
      // Grey was repeated in all channels: the first plane is enough.
      levels.Normalise(cut.planes.data(), plane, target + i * shape.size());
    }
  });
  return out.to(images.device());
}

Result<at::Tensor> MakeAugmentedBatch(const Examples& examples, const at::Tensor& rows,
                                      const Augmentation& augmentation, std::uint64_t seed, std::uint64_t step,
                                      const RowPlaces& places) {
  const auto stream = [&](Purpose purpose) { return RowStream(RngStream(seed, purpose, step), places); };
  switch (augmentation.kind) {
    case AugmentationKind::none:
      return examples.Batch(rows);
    case AugmentationKind::shift:
      return MoveImages(examples.Batch(rows), augmentation.reach, Black(augmentation.scale), stream(Purpose::shifts));
    case AugmentationKind::crop_flip:
      return MirrorImages(
          MoveImages(examples.Batch(rows), augmentation.reach, Black(augmentation.scale), stream(Purpose::crops)),
          stream(Purpose::flips));
    case AugmentationKind::affine:
    case AugmentationKind::elastic: {
      WarpRanges ranges;
      ranges.reach = augmentation.reach;
      if (augmentation.kind == AugmentationKind::elastic) ranges.field = kElasticField;
      return WarpAtRandom(examples.Batch(rows), ranges, Black(augmentation.scale), stream(Purpose::warps));
    }
    case AugmentationKind::random_resized_crop:
      break;
  }
  const RowStream boxes = stream(Purpose::resized_crops);
  if (!examples.HasFiles())
    return MirrorImages(ResizeAtRandom(examples.Batch(rows), augmentation.scale, boxes), stream(Purpose::flips));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor cut,
                          examples.FileBatch(rows, [&](std::int64_t row, const storage::ImageSize& size) {
                            return DrawCropBox(size, boxes.Lane(row));
                          }));
  return MirrorImages(cut, stream(Purpose::flips));
}

namespace {

// The pixels of one axis that a box covers: `share` of `extent`.
struct Span {
  std::int64_t first, count;
};

Span FindSpan(std::int64_t extent, double share, double place) {
  const auto count = std::clamp<std::int64_t>(std::llround(static_cast<double>(extent) * share), 0, extent);
  const auto first = static_cast<std::int64_t>(place * static_cast<double>(extent - count + 1));
  return {std::min(first, extent - count), count};
}

void Patch(at::Tensor image, const at::Tensor& other, const RngStream& lane) {
  const double side = std::sqrt(lane.Uniform(1));
  const Span rows = FindSpan(image.size(1), side, lane.Uniform(2)),
             columns = FindSpan(image.size(2), side, lane.Uniform(3));
  const auto box = [&](const at::Tensor& of) {
    return of.narrow(1, rows.first, rows.count).narrow(2, columns.first, columns.count);
  };
  box(image).copy_(box(other));
}

}  // namespace

at::Tensor MixRows(const at::Tensor& a, const at::Tensor& b, const RowStream& rows) {
  RETORT_CHECK(a.sizes() == b.sizes() && a.dim() == 4);
  const at::Tensor mixed = a.clone();
  for (std::int64_t i = 0; i < a.size(0); ++i) {
    const RngStream lane = rows.Lane(i);
    switch (lane.Below(0, 3)) {
      case 0:
        break;
      case 1:
        mixed[i].lerp_(b[i], lane.Uniform(1));
        break;
      default:
        Patch(mixed[i], b[i], lane);
    }
  }
  return mixed;
}

}  // namespace retort::worker
