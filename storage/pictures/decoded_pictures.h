// Pictures decoded once and shared by all trials on a host: a mapped file of u8 planes. Bytes:
// storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/env.h"
#include "storage/pictures/decode_in_order.h"

namespace retort::storage {

// Which pictures, made ready how.
struct PictureSet {
  std::string digest;  // of the data set's bytes: 64 hex digits
  PictureSource source;
  std::vector<std::int64_t> rows;  // numbers in the data set, ascending, each once
  PreparationOrder order;          // with the size of the prepared pictures
};

// Where decoded pictures are kept.
struct PictureCache {
  std::string folder;                                   // empty: there is none, and they are held in memory
  std::uint64_t limit_bytes = std::uint64_t{64} << 30;  // of all files in it
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // what may be held in memory where there is no folder
  double wait_seconds = 3600;  // for another process that is decoding the same pictures
};

// Of this process: folder RETORT_PICTURE_CACHE, else $XDG_CACHE_HOME/retort/pictures, else
// $HOME/.cache/retort/pictures, else none; limit RETORT_PICTURE_CACHE_GIB. Error: usage, naming the variable.
[[nodiscard]] Result<PictureCache> ProcessPictureCache();

// Told how many pictures are ready of how many, each second at least, also while waiting for another process
// (0 of them then). What it says that is not ok ends the work.
using PictureProgress = std::function<Status(std::int64_t done, std::int64_t of)>;

struct SkippedPicture {
  std::int64_t row = 0;  // in the data set
  std::string why;       // a whole sentence that names the picture
  bool operator==(const SkippedPicture&) const = default;
};

// Immutable, so that every thread may read it. Mapped bytes stay as they are when the file is evicted.
class DecodedPictures {
 public:
  // `planes` of each picture are `stride` bytes; `owner` keeps them where they are.
  DecodedPictures(std::shared_ptr<const void> owner, std::string_view planes, std::size_t stride,
                  std::vector<SkippedPicture> skipped)
      : owner_(std::move(owner)), planes_(planes), stride_(stride), skipped_(std::move(skipped)) {}

  // u8 [channels, height, width] of rows[k] of its set. Zeros for one that was skipped.
  [[nodiscard]] const std::uint8_t* At(std::int64_t k) const {
    return reinterpret_cast<const std::uint8_t*>(planes_.data()) + static_cast<std::size_t>(k) * stride_;
  }
  // Ascending by row. Which they are follows from each picture's own bytes.
  [[nodiscard]] const std::vector<SkippedPicture>& skipped() const { return skipped_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view planes_;
  std::size_t stride_;
  std::vector<SkippedPicture> skipped_;
};

// The file's name in the folder, without its ending: SHA-256 over the format version, the digest, the rows
// and everything of the preprocessing but on_error.
[[nodiscard]] std::string CacheKey(const PictureSet& set);

// From the cache, when it holds them whole (every checksum is checked); else decoded, and left in the cache:
// one process does so while others wait for it. A file that does not hold is removed and made anew; so is
// room, by removing what was not used for longest. A process that is killed meanwhile leaves nothing that is
// read. Errors: with on_error fail, that of the first picture by row that cannot be decoded (damage);
// environment for a source that cannot be read, a wait beyond wait_seconds, a set larger than the limits, no
// space.
[[nodiscard]] Result<std::shared_ptr<const DecodedPictures>> OpenDecoded(Env& env, const PictureSet& set,
                                                                         const PictureCache& cache,
                                                                         const PictureProgress& progress);

}  // namespace retort::storage
