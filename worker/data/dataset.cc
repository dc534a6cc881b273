#include "worker/data/dataset.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <memory>
#include <string_view>
#include <utility>

#include "storage/datasets/data_inspection.h"
#include "worker/data/augmentation.h"
#include "worker/data/encoded_splits.h"
#include "worker/data/pixel_levels.h"
#include "worker/data/split_overlap.h"

namespace retort::worker {
namespace {

Examples Take(const storage::ExampleStore& store, const std::vector<std::int64_t>& indices, const PixelLevels& levels) {
  const auto n = static_cast<std::int64_t>(indices.size());
  const std::int64_t channels = store.channels(), plane = store.height() * store.width();
  at::Tensor images = at::empty({n, channels, store.height(), store.width()}, at::kFloat);
  at::Tensor labels = at::empty({n}, at::kLong);
  float* image = images.mutable_data_ptr<float>();
  std::int64_t* label = labels.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t index : indices) {
    levels.Normalise(store.pixels().data() + index * channels * plane, plane, image);
    image += channels * plane;
    *label++ = store.labels()[static_cast<std::size_t>(index)];
  }
  return {std::move(images), std::move(labels)};
}

SplitRows MakeSplitRows(const storage::SplitLocations& places, std::uint64_t shuffle) {
  return {storage::ListIndices(places.train, shuffle), storage::ListIndices(places.public_split, shuffle),
          storage::ListIndices(places.test, shuffle), storage::ListIndices(places.validation, shuffle)};
}

// Of raw pixels, as the set's files hold them.
bool PixelsShared(const storage::ExampleStore& store, const SplitRows& rows) {
  const std::int64_t size = store.channels() * store.height() * store.width();
  return SplitsShare(rows, [&](std::int64_t row) {
    return std::string_view(reinterpret_cast<const char*>(store.pixels().data()) + row * size,
                            static_cast<std::size_t>(size));
  });
}

Result<CheckedDataset> LoadPixels(const DataSpec& spec, const storage::ExampleStore& store,
                                  const storage::SplitLocations& places) {
  DataSpec found = spec;
  found.channels = store.channels();
  Dataset data;
  data.shape = {store.channels(), store.height(), store.width()};
  data.classes = store.classes();
  data.scale = FindPixelScale(found);
  const PixelLevels levels(store.channels(), data.scale);
  const SplitRows rows = MakeSplitRows(places, spec.split.shuffle);
  data.train = Take(store, rows.train, levels);
  data.public_split = Take(store, rows.public_split, levels);
  data.test = Take(store, rows.test, levels);
  data.validation = Take(store, rows.validation, levels);
  data.validation_apart = AreApart(rows.train, rows.validation);
  return CheckedDataset{std::move(data), PixelsShared(store, rows)};
}

std::function<Status(std::int64_t, std::int64_t)> As(const std::string& doing, const LoadProgress& progress) {
  return [&progress, doing](std::int64_t done, std::int64_t of) {
    return progress ? progress(doing, done, of) : Status();
  };
}

Result<CheckedDataset> DecodeEncoded(storage::Env& env, const DataSpec& spec,
                                     std::shared_ptr<const storage::ExampleStore> store,
                                     const storage::SplitLocations& places, int threads, const LoadProgress& progress) {
  RETORT_ASSIGN_OR_RETURN(const storage::ImageCache cache, storage::FindImageCache());
  const SplitRows rows = MakeSplitRows(places, spec.split.shuffle);
  const std::int64_t classes = store->classes();
  RETORT_ASSIGN_OR_RETURN(EncodedSplits loaded, LoadEncodedSplits(env, spec, std::move(store), rows, cache, threads,
                                                                  As("decoding", progress)));
  DataSpec shaped = spec;
  shaped.channels = loaded.shape.channels;
  Dataset data;
  data.shape = loaded.shape;
  data.classes = classes;
  data.train = std::move(loaded.train);
  data.public_split = std::move(loaded.public_split);
  data.test = std::move(loaded.test);
  data.validation = std::move(loaded.validation);
  data.validation_apart = AreApart(rows.train, rows.validation);
  data.scale = FindPixelScale(shaped);
  data.skipped = loaded.skipped_train + loaded.skipped_public + loaded.skipped_test + loaded.skipped_validation;
  return CheckedDataset{std::move(data), loaded.shared};
}

// [1, channels, 1, 1] beside images.
at::Tensor PerChannel(const std::vector<double>& values, const at::Tensor& images) {
  return at::tensor(values, at::kFloat).view({1, -1, 1, 1}).to(images.device());
}

}  // namespace

void MoveTo(const at::Device& device, Dataset& data) {
  for (Examples* examples : {&data.train, &data.public_split, &data.test, &data.validation})
    *examples = examples->On(device);
  data.device = device;
}

Result<Dataset> LoadDataset(storage::Env& env, const DataSpec& spec, int threads, const LoadProgress& progress) {
  RETORT_ASSIGN_OR_RETURN(CheckedDataset loaded, LoadCheckedDataset(env, spec, threads, progress));
  return std::move(loaded.data);
}

Result<CheckedDataset> LoadCheckedDataset(storage::Env& env, const DataSpec& spec, int threads,
                                          const LoadProgress& progress) {
  RETORT_ASSIGN_OR_RETURN(std::shared_ptr<const storage::ExampleStore> store, storage::OpenExamples(env, spec));
  RETORT_RETURN_IF_ERROR(
      storage::CheckUnchanged(env, spec, *store, storage::FindDigestCache(), As("checking", progress)));
  RETORT_ASSIGN_OR_RETURN(const storage::SplitLocations places, storage::LocateSplits(env, spec, *store));
  if (!store->encoded()) return LoadPixels(spec, *store, places);
  return DecodeEncoded(env, spec, std::move(store), places, threads, progress);
}

at::Tensor ConvertToBytes(const at::Tensor& images, const PixelScale& scale) {
  const at::Tensor on_host = images.detach().cpu();
  const at::Tensor pixels = on_host * PerChannel(scale.std, on_host) + PerChannel(scale.mean, on_host);
  return (pixels * 255.0).round_().clamp_(0, 255).to(at::kByte).contiguous();
}

at::Tensor NormaliseLevel(double level, const PixelScale& scale) {
  std::vector<float> values;
  for (std::size_t c = 0; c < scale.mean.size(); ++c)
    values.push_back(static_cast<float>((level - scale.mean[c]) / scale.std[c]));
  return at::tensor(values, at::kFloat);
}

at::Tensor ShiftImages(const at::Tensor& images, int reach, const PixelScale& scale, const RowStream& rows) {
  return MoveImages(images, reach, NormaliseLevel(0, scale), rows);
}

}  // namespace retort::worker
