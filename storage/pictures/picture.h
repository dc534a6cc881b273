// A decoded picture, and what a reader of pictures is willing to take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retort::storage {

// Rows and columns of a picture, in pixels.
struct Region {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Region&) const = default;
};

struct PictureSize {
  std::int64_t height = 0, width = 0;
  bool operator==(const PictureSize&) const = default;
};

// Behind the last pixel of Picture::rgb stand so many bytes that mean nothing, so that a pixel may be read as
// one word.
inline constexpr std::size_t kPicturePadding = 16;

struct Picture {
  PictureSize whole;              // what the file declares
  Region region;                  // what of it is held
  std::vector<std::uint8_t> rgb;  // [region.height, region.width, 3], then kPicturePadding bytes
  std::int64_t clipped = 0;       // pixels of 16-bit grey above 255
  [[nodiscard]] const std::uint8_t* Row(std::int64_t y) const { return rgb.data() + y * region.width * 3; }
};

// Checked against the header, before anything is allocated.
struct PictureLimits {
  std::int64_t side = 30'000;          // px
  std::int64_t pixels = 89'478'485;    // in all; above it Pillow, too, warns of a decompression bomb
  std::int64_t scans = 100;            // of a progressive JPEG, each of which costs a pass over all pixels
  std::int64_t scan_pixels = 1 << 30;  // scans * pixels: what a hostile progressive JPEG can make us work
};

// torchvision's loader (Image.open().convert("RGB")) leaves pictures as they are stored, and so does
// `ignore`; `apply` turns and mirrors them as their EXIF orientation says.
enum class ExifOrientation : std::uint8_t { ignore, apply };

struct PictureOptions {
  PictureLimits limits;
  ExifOrientation orientation = ExifOrientation::ignore;
};

}  // namespace retort::storage
