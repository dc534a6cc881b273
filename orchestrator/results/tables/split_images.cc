#include "orchestrator/results/tables/split_images.h"

#include <algorithm>
#include <utility>

#include "storage/datasets/data_inspection.h"
#include "storage/images/prepared_image.h"

namespace retort::orchestrator {
namespace {

class SplitReader {
 public:
  SplitReader(const DataSpec& data, const storage::ExampleStore& store, std::int64_t most)
      : data_(data), store_(store), most_(most) {
    if (store.encoded())
      found_.channels = data.channels;
    else
      found_ = {store.channels(), store.height(), store.width(), {}};
  }

  Status Add(const std::string& split, const storage::SplitLocation& place) {
    const std::vector<std::int64_t> indices = storage::ListIndices(place, data_.split.shuffle);
    const auto n = static_cast<std::int64_t>(indices.size()), count = std::min(n, most_);
    SplitImages images{split, 0, {}};
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t index = indices[static_cast<std::size_t>(k * n / count)];
      if (store_.encoded())
        RETORT_RETURN_IF_ERROR(AddDecoded(index, images));
      else
        AddRaw(index, images);
    }
    if (images.count > 0) found_.splits.push_back(std::move(images));
    return {};
  }

  DataImages Take() { return std::move(found_); }

 private:
  void AddRaw(std::int64_t index, SplitImages& into) const {
    const std::int64_t size = found_.channels * found_.height * found_.width;
    const auto begin = store_.pixels().begin() + index * size;
    into.pixels.insert(into.pixels.end(), begin, begin + size);
    ++into.count;
  }

  Status AddDecoded(std::int64_t index, SplitImages& into) {
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, store_.Read(index));
    const std::string where = store_.Where(index);
    const Result<storage::PreparedImage> image =
        storage::PrepareImage(where, bytes, data_.preprocessing, {}, data_.channels);
    if (!image.ok()) return data_.preprocessing.on_error == OnError::fail ? image.status() : Status();
    if (found_.height == 0) {
      found_.height = image->size.height;
      found_.width = image->size.width;
    }
    if (image->size.height != found_.height || image->size.width != found_.width)
      return DamageError("'" + where +
                         "' has another size than the pictures before it: give a size, or resize and crop.");
    into.pixels.insert(into.pixels.end(), image->planes.begin(), image->planes.end());
    ++into.count;
    return {};
  }

  const DataSpec& data_;
  const storage::ExampleStore& store_;
  const std::int64_t most_;
  DataImages found_;
};

}  // namespace

Result<DataImages> ReadSplitImages(storage::Env& env, const DataSpec& data, std::int64_t most) {
  RETORT_ASSIGN_OR_RETURN(const auto store, storage::OpenExamples(env, data));
  RETORT_ASSIGN_OR_RETURN(const storage::SplitLocations places, storage::LocateSplits(env, data, *store));
  SplitReader reader(data, *store, most);
  RETORT_RETURN_IF_ERROR(reader.Add("train", places.train));
  RETORT_RETURN_IF_ERROR(reader.Add("public", places.public_split));
  RETORT_RETURN_IF_ERROR(reader.Add("test", places.test));
  return reader.Take();
}

}  // namespace retort::orchestrator
