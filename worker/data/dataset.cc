#include "worker/data/dataset.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <numeric>

#include "storage/idx_file.h"
#include "worker/data/augmentation.h"

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

at::Tensor ToBytes(const at::Tensor& images, const PixelScale& scale) {
  const auto channels = [](const std::vector<double>& values) {
    return at::tensor(values, at::kFloat).view({1, static_cast<std::int64_t>(values.size()), 1, 1});
  };
  const at::Tensor pixels = images.detach().cpu() * channels(scale.std) + channels(scale.mean);
  return (pixels * 255.0).round_().clamp_(0, 255).to(at::kByte).contiguous();
}

at::Tensor ToBytes(const at::Tensor& images) {
  const at::Tensor pixels = images.detach().cpu() * kPixelStd + kPixelMean;
  return (pixels * 255.0).round_().clamp_(0, 255).to(at::kByte).contiguous();
}

at::Tensor Shifted(const at::Tensor& images, int reach, const RowStream& rows) {
  return Moved(images, reach, at::full({images.size(1)}, kBlack, at::kFloat), rows);
}

}  // namespace retort::worker
