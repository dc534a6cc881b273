#include "worker/data/dataset.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "storage/idx_file.h"

namespace retort::worker {
namespace {

constexpr auto kBlack = static_cast<float>(-kPixelMean / kPixelStd);

// The examples at positions [range.begin, range.end) of `order`.
Examples Take(const storage::IdxData& set, const std::vector<std::int64_t>& order, const IndexRange& range) {
  at::Tensor images = at::empty({range.size(), 1, set.height, set.width}, at::kFloat);
  at::Tensor labels = at::empty({range.size()}, at::kLong);
  const std::int64_t pixels = set.height * set.width;
  float* image = images.mutable_data_ptr<float>();
  std::int64_t* label = labels.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t index = order[static_cast<std::size_t>(i)];
    const std::uint8_t* bytes = set.pixels.data() + index * pixels;
    for (std::int64_t k = 0; k < pixels; ++k) {
      *image++ = static_cast<float>((bytes[k] / 255.0 - kPixelMean) / kPixelStd);
    }
    *label++ = set.labels[static_cast<std::size_t>(index)];
  }
  return {std::move(images), std::move(labels)};
}

Status CheckRange(const char* name, const IndexRange& range, std::int64_t n, const std::string& path) {
  if (range.begin >= 0 && range.begin <= range.end && range.end <= n) return {};
  return EnvironmentError("The split names " + std::string(name) + " examples [" + std::to_string(range.begin) + ", " +
                          std::to_string(range.end) + "), but " + path + " holds " + std::to_string(n) + ".");
}

struct Move {
  std::int64_t down, right;
};

Move MoveOf(std::int64_t row, int reach, const RowStream& rows) {
  const RngStream lane = rows.stream.Lane(static_cast<std::uint64_t>(rows.first_row + row));
  return {lane.Below(0, 2 * reach + 1) - reach, lane.Below(1, 2 * reach + 1) - reach};
}

// For images whose bytes only their device can reach: each pixel is looked up in the image with a black border.
at::Tensor ShiftedOnDevice(const at::Tensor& in, int reach, const RowStream& rows) {
  const std::int64_t n = in.size(0), channels = in.size(1), height = in.size(2), width = in.size(3);
  const std::int64_t bordered_width = width + 2 * reach;
  at::Tensor bordered = at::full({n, channels, height + 2 * reach, bordered_width}, kBlack, in.options());
  bordered.narrow(2, reach, height).narrow(3, reach, width).copy_(in);
  std::vector<std::int64_t> origins;
  for (std::int64_t i = 0; i < n; ++i) {
    const Move move = MoveOf(i, reach, rows);
    origins.push_back((reach - move.down) * bordered_width + reach - move.right);
  }
  const at::TensorOptions index = in.options().dtype(at::kLong);
  const at::Tensor pixel = (at::arange(height, index) * bordered_width).unsqueeze(1) + at::arange(width, index);
  const at::Tensor from = at::tensor(origins, index).view({n, 1, 1}) + pixel.view({1, 1, height * width});
  return bordered.view({n, channels, -1}).gather(2, from.expand({n, channels, -1})).view(in.sizes());
}

}  // namespace

void MoveTo(const at::Device& device, Dataset& data) {
  for (Examples* examples : {&data.train, &data.public_split, &data.test}) *examples = examples->On(device);
  data.device = device;
}

std::vector<std::int64_t> SplitOrder(std::int64_t n, std::uint64_t shuffle) {
  if (shuffle != 0) return Permutation(n, RngStream(shuffle, Purpose::split));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Result<Dataset> LoadDataset(storage::Env& env, const DataSpec& spec) {
  if (spec.reader != "idx") return UsageError("There is no reader '" + spec.reader + "'. Known: idx.");
  RETORT_ASSIGN_OR_RETURN(const storage::IdxData set, storage::LoadIdx(env, spec));
  const SplitSpec& split = spec.split;
  RETORT_RETURN_IF_ERROR(CheckRange("train", split.train, set.examples, spec.path));
  RETORT_RETURN_IF_ERROR(CheckRange("public", split.public_range, set.examples, spec.path));
  RETORT_RETURN_IF_ERROR(CheckRange("test", split.test, set.examples, spec.path));
  const std::vector<std::int64_t> order = SplitOrder(set.examples, split.shuffle);
  return Dataset{{1, set.height, set.width}, spec.classes, Take(set, order, split.train),
                 Take(set, order, split.public_range), Take(set, order, split.test)};
}

at::Tensor ToBytes(const at::Tensor& images) {
  const at::Tensor pixels = images.detach().cpu() * kPixelStd + kPixelMean;
  return (pixels * 255.0).round_().clamp_(0, 255).to(at::kByte).contiguous();
}

at::Tensor Shifted(const at::Tensor& images, int reach, const RowStream& rows) {
  if (reach == 0) return images;
  const at::Tensor in = images.contiguous();
  if (!in.is_cpu()) return ShiftedOnDevice(in, reach, rows);
  at::Tensor out = at::full_like(in, kBlack);
  const std::int64_t n = in.size(0), channels = in.size(1), height = in.size(2), width = in.size(3);
  const float* source = in.const_data_ptr<float>();
  float* target = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto [dy, dx] = MoveOf(i, reach, rows);
    const std::int64_t first = std::max<std::int64_t>(0, dx), last = std::min(width, width + dx);
    if (last <= first) continue;
    for (std::int64_t row = 0; row < channels * height; ++row) {
      const std::int64_t y = row % height, from = y - dy;
      if (from < 0 || from >= height) continue;
      const std::int64_t base = i * channels * height * width;
      std::memcpy(target + base + row * width + first,
                  source + base + (row - dy) * width + first - dx,
                  static_cast<std::size_t>(last - first) * sizeof(float));
    }
  }
  return out;
}

}  // namespace retort::worker
