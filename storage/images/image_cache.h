// Images decoded on several threads, once for all trials on a host: a mapped file of u8 planes. Bytes:
// storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/files/env.h"
#include "storage/images/prepared_image.h"

namespace retort::storage {

// Encoded images by number; both functions are called from several threads at once.
struct EncodedImages {
  std::function<Result<std::string>(std::int64_t)> read;  // the bytes of its file
  std::function<std::string(std::int64_t)> where;         // for messages
};

struct PreparationOptions {
  Preprocessing preprocessing;
  ImageLimits limits;
  std::int64_t channels = 3;  // 3 or 1
  ImageSize size;             // that every prepared image has
  int threads = 1;            // at least 1
};

// Calls take(k, image of rows[k] or why there is none) for k = 0, 1, ... on the calling thread, whichever
// thread is done first. At most 4 images a thread are held. Ends with what `take` says first that is not
// ok.
[[nodiscard]] Status PrepareInOrder(const EncodedImages& source, const std::vector<std::int64_t>& rows,
                                    const PreparationOptions& order,
                                    const std::function<Status(std::size_t k, Result<PreparedImage>)>& take);

// Which images, made ready how.
struct ImageSet {
  std::string digest;  // of the data set's bytes: 64 hex digits
  EncodedImages source;
  std::vector<std::int64_t> rows;  // numbers in the data set, ascending, each once
  PreparationOptions order;        // with the size of the prepared images
};

// Where decoded images are kept.
struct ImageCache {
  std::string folder;                                   // empty: there is none, and they are held in memory
  std::uint64_t limit_bytes = std::uint64_t{64} << 30;  // of all files in it
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // what may be held in memory where there is no folder
  double wait_seconds = 3600;                           // for another process that is decoding the same images
};

// Of this process: folder RETORT_PICTURE_CACHE, else $XDG_CACHE_HOME/retort/pictures, else
// $HOME/.cache/retort/pictures, else none; limit RETORT_PICTURE_CACHE_GIB. Error: usage, naming the variable.
[[nodiscard]] Result<ImageCache> FindImageCache();

// Called with the number of images that are ready and of all, each second at least, also while waiting for another
// process (0 of them then). An error that it returns ends the work.
using DecodingProgress = std::function<Status(std::int64_t done, std::int64_t of)>;

struct SkippedImage {
  std::int64_t row = 0;  // in the data set
  std::string why;       // a whole sentence that names the image
  bool operator==(const SkippedImage&) const = default;
};

// Immutable, so that every thread may read it. Mapped bytes stay as they are when the file is evicted.
class DecodedImages {
 public:
  // `planes` of each image are `stride` bytes; `owner` keeps them where they are.
  DecodedImages(std::shared_ptr<const void> owner, std::string_view planes, std::size_t stride,
                std::vector<SkippedImage> skipped)
      : owner_(std::move(owner)), planes_(planes), stride_(stride), skipped_(std::move(skipped)) {}

  // u8 [channels, height, width] of rows[k] of its set. Zeros for one that was skipped.
  [[nodiscard]] const std::uint8_t* At(std::int64_t k) const {
    return reinterpret_cast<const std::uint8_t*>(planes_.data()) + static_cast<std::size_t>(k) * stride_;
  }
  // Ascending by row. Which they are follows from each image's own bytes.
  [[nodiscard]] const std::vector<SkippedImage>& skipped() const { return skipped_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view planes_;
  std::size_t stride_;
  std::vector<SkippedImage> skipped_;
};

// The file's name in the folder, without its ending: SHA-256 over the format version, the digest, the rows
// and everything of the preprocessing but on_error.
[[nodiscard]] std::string ComputeCacheKey(const ImageSet& set);

// Opens the images from the cache when it holds them whole (every checksum is checked), else decodes them and leaves
// them in the cache: one process does so while others wait for it. A damaged file is removed and made anew. The files
// that were not used for longest are removed to make room. A process that is killed meanwhile leaves nothing that is
// read. Errors: with on_error fail, that of the first image by row that cannot be decoded (damage); environment for a
// source that cannot be read, a wait beyond wait_seconds, a set larger than the limits, no space.
[[nodiscard]] Result<std::shared_ptr<const DecodedImages>> OpenDecoded(Env& env, const ImageSet& set,
                                                                       const ImageCache& cache,
                                                                       const DecodingProgress& progress);

}  // namespace retort::storage
