// JPEG and PNG bytes to RGB, with the bits that Pillow's Image.open(...).convert("RGB") gives; and what is refused
// before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::storage {

// Rows and columns of an image, in pixels.
struct Region {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Region&) const = default;
};

struct ImageSize {
  std::int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

// Behind the last pixel of Image::rgb stand so many bytes that mean nothing, so that a pixel may be read as
// one word.
inline constexpr std::size_t kImagePadding = 16;

struct DecodedImage {
  ImageSize whole;                // what the file declares
  Region region;                  // what of it is held
  std::vector<std::uint8_t> rgb;  // [region.height, region.width, 3], then kImagePadding bytes
  std::int64_t clipped = 0;       // pixels of 16-bit grey above 255
  [[nodiscard]] const std::uint8_t* Row(std::int64_t y) const { return rgb.data() + y * region.width * 3; }
};

// Checked against the header, before anything is allocated.
struct ImageLimits {
  std::int64_t side = 30'000;          // px
  std::int64_t pixels = 89'478'485;    // in all; above it Pillow, too, warns of a decompression bomb
  std::int64_t scans = 100;            // of a progressive JPEG, each of which costs a pass over all pixels
  std::int64_t scan_pixels = 1 << 30;  // scans * pixels: what a hostile progressive JPEG can make us work
};

// torchvision's loader (Image.open().convert("RGB")) leaves images as they are stored, and so does
// `ignore`; `apply` turns and mirrors them as their EXIF orientation says.
enum class ExifOrientation : std::uint8_t { ignore, apply };

struct ImageOptions {
  ImageLimits limits;
  ExifOrientation orientation = ExifOrientation::ignore;
};

// What of an image of this size is wanted: within it, and not empty.
using RegionChoice = std::function<Region(const ImageSize&)>;

// `name` is for messages. JPEG: accurate IDCT, fancy upsampling; CMYK and YCCK inverted, as Adobe writes
// them. PNG: palettes are looked up, transparency is dropped, of 16 bits of a colour the upper 8 count, and
// 16-bit grey is clipped at 255 (all as Pillow does). Colour profiles and gamma are ignored. Decodes at least
// the region chosen; the image says what it holds. A JPEG's lines outside of it are checked but not
// computed, a PNG and a progressive JPEG are held whole. Errors, each naming the image: damage (no JPEG or
// PNG; truncated, with byte offset and line; broken data, also where Pillow would fill in grey); refused
// (above a limit).
[[nodiscard]] Result<DecodedImage> DecodeImage(const std::string& name, std::string_view bytes,
                                               const ImageOptions& options, const RegionChoice& choose);
// All of it.
[[nodiscard]] Result<DecodedImage> DecodeImage(const std::string& name, std::string_view bytes,
                                               const ImageOptions& options = {});

}  // namespace retort::storage
