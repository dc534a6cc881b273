#include "worker/data/encoded_splits.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "storage/images/prepared_image.h"

namespace retort::worker {
namespace {

storage::ImageSet MakeWrittenImages(const DataSpec& data, std::shared_ptr<const storage::ExampleStore> store,
                                    const SplitRows& rows, int threads) {
  storage::ImageSet set;
  set.digest = data.digest;
  for (const auto* split : {&rows.train, &rows.public_split, &rows.test, &rows.validation})
    set.rows.insert(set.rows.end(), split->begin(), split->end());
  std::sort(set.rows.begin(), set.rows.end());
  set.rows.erase(std::unique(set.rows.begin(), set.rows.end()), set.rows.end());
  set.source.read = [store](std::int64_t row) { return store->Read(row); };
  set.source.where = [store](std::int64_t row) { return store->Where(row); };
  set.order.preprocessing = data.preprocessing;
  set.order.channels = data.channels;
  const PreparedSides sides = ComputePreparedSides(data.preprocessing);
  set.order.size = {sides.height, sides.width};
  if (sides.height == 0) set.order.size = {data.height, data.width};
  set.order.threads = threads;
  return set;
}

// The split without the skipped images, which are counted in `skipped`.
Examples Split(const std::shared_ptr<const StoredImages>& images, const storage::ExampleStore& store,
               const std::vector<std::int64_t>& rows, std::int64_t& skipped) {
  const std::vector<std::int64_t>& known = images->set.rows;
  const std::vector<storage::SkippedImage>& gone = images->pictures->skipped();
  std::vector<std::int64_t> places, labels;
  for (const std::int64_t row : rows) {
    const auto broken = std::lower_bound(gone.begin(), gone.end(), row,
                                         [](const storage::SkippedImage& a, std::int64_t b) { return a.row < b; });
    if (broken != gone.end() && broken->row == row) {
      ++skipped;
      continue;
    }
    places.push_back(std::lower_bound(known.begin(), known.end(), row) - known.begin());
    labels.push_back(store.labels()[static_cast<std::size_t>(row)]);
  }
  return {images, std::move(places), at::tensor(labels, at::kLong)};
}

bool ImagesShared(const StoredImages& images, const SplitRows& rows) {
  const std::vector<std::int64_t>& known = images.set.rows;
  const std::vector<storage::SkippedImage>& gone = images.pictures->skipped();
  return SplitsShare(rows, [&](std::int64_t row) {
    const bool broken = std::ranges::binary_search(gone, row, {}, &storage::SkippedImage::row);
    if (broken) return std::string_view();
    const auto place = std::ranges::lower_bound(known, row) - known.begin();
    return std::string_view(reinterpret_cast<const char*>(images.pictures->At(place)),
                            static_cast<std::size_t>(images.shape.size()));
  });
}

}  // namespace

Result<EncodedSplits> LoadEncodedSplits(storage::Env& env, const DataSpec& data,
                                        std::shared_ptr<const storage::ExampleStore> store, const SplitRows& rows,
                                        const storage::ImageCache& cache, int threads,
                                        const storage::DecodingProgress& progress) {
  if (data.channels != 1 && data.channels != 3) {
    return UsageError("Pictures have 1 channel (grey) or 3 (red, green, blue), not " + std::to_string(data.channels) +
                      ".");
  }
  storage::ImageSet set = MakeWrittenImages(data, store, rows, threads);
  RETORT_ASSIGN_OR_RETURN(std::shared_ptr<const storage::DecodedImages> pictures,
                          storage::OpenDecoded(env, set, cache, progress));
  EncodedSplits out;
  out.shape = {data.channels, set.order.size.height, set.order.size.width};
  out.skipped = pictures->skipped();
  const auto images = std::make_shared<const StoredImages>(std::move(pictures), out.shape, FindPixelScale(data),
                                                           at::kCPU, std::move(set));
  out.train = Split(images, *store, rows.train, out.skipped_train);
  out.public_split = Split(images, *store, rows.public_split, out.skipped_public);
  out.test = Split(images, *store, rows.test, out.skipped_test);
  out.validation = Split(images, *store, rows.validation, out.skipped_validation);
  out.shared = ImagesShared(*images, rows);
  return out;
}

}  // namespace retort::worker
