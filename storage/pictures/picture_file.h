// The file of decoded pictures, byte by byte: storage/FORMAT.md, "Decoded pictures".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/pictures/decoded_pictures.h"

namespace retort::storage {

inline constexpr std::uint32_t kPictureFileVersion = 1;
inline constexpr std::size_t kPictureFileHead =
    4096;  // bytes before the planes, so that they begin on a page

struct PictureFileShape {
  std::int64_t pictures = 0, channels = 0, height = 0, width = 0;
  [[nodiscard]] std::size_t stride() const { return static_cast<std::size_t>(channels * height * width); }
  bool operator==(const PictureFileShape&) const = default;
};

// kPictureFileHead bytes.
[[nodiscard]] std::string PictureFileHead(const std::string& key, const PictureFileShape& shape);
// What stands behind the planes; `sums` [pictures] are their CRC-32C.
[[nodiscard]] std::string PictureFileTail(const std::vector<std::uint32_t>& sums,
                                          const std::vector<SkippedPicture>& skipped);

// A whole file of that key and shape, each checksum checked on `threads` threads. Error: damage, saying what
// does not hold.
[[nodiscard]] Result<std::shared_ptr<const DecodedPictures>> ReadPictureFile(
    std::shared_ptr<const void> owner, std::string_view bytes, const std::string& key,
    const PictureFileShape& shape, int threads);

// A file mapped read-only while alive. Error: environment.
struct MappedFile {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
};
[[nodiscard]] Result<MappedFile> MapFile(const std::string& path);
// Now becomes the time when it was last used. Best effort.
void StampUse(const std::string& path);
struct FileUse {
  std::uint64_t bytes = 0;
  std::int64_t used = 0;  // ns since the epoch
};
// Nothing for what is no plain file.
[[nodiscard]] std::optional<FileUse> UseOf(const std::string& path);

}  // namespace retort::storage
