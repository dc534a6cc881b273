// The orientation tag (0x0112) of EXIF: in the APP1 segment of a JPEG, in the eXIf chunk of a PNG.
#include <algorithm>
#include <utility>

#include "storage/pictures/picture_format.h"

namespace retort::storage {
namespace {

std::uint32_t Number(std::string_view bytes, std::size_t at, std::size_t count, bool little) {
  if (at > bytes.size() || count > bytes.size() - at) return 0;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[at + (little ? count - 1 - i : i)]);
    value = value << 8 | byte;
  }
  return value;
}

// `tiff` begins with the byte order mark.
int OrientationInTiff(std::string_view tiff) {
  const bool little = tiff.starts_with("II");
  if (!little && !tiff.starts_with("MM")) return 1;
  const std::uint32_t directory = Number(tiff, 4, 4, little), entries = Number(tiff, directory, 2, little);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = std::size_t{directory} + 2 + std::size_t{12} * i;
    if (entry + 12 > tiff.size()) return 1;
    if (Number(tiff, entry, 2, little) != 0x0112) continue;
    const std::uint32_t value = Number(tiff, entry + 8, 2, little);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int OrientationInJpeg(std::string_view bytes) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  for (std::size_t at = 2; at + 4 <= bytes.size();) {
    const std::uint32_t marker = Number(bytes, at, 2, false), size = Number(bytes, at + 2, 2, false);
    if (marker < 0xFFC0 || marker == 0xFFDA || size < 2) return 1;
    const std::string_view segment = bytes.substr(at + 4, size - 2);
    if (marker == 0xFFE1 && segment.starts_with(kExif))
      return OrientationInTiff(segment.substr(kExif.size()));
    at += 2 + std::size_t{size};
  }
  return 1;
}

int OrientationInPng(std::string_view bytes) {
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    const std::size_t size = Number(bytes, at, 4, false);
    if (bytes.substr(at + 4, 4) == "eXIf") return OrientationInTiff(bytes.substr(at + 8, size));
    at += 12 + size;
  }
  return 1;
}

}  // namespace

int OrientationOf(std::string_view bytes) {
  return IsPng(bytes) ? OrientationInPng(bytes) : OrientationInJpeg(bytes);
}

Picture Upright(Picture picture, int orientation) {
  if (orientation <= 1 || orientation > 8) return picture;
  const PictureSize from = picture.whole;
  const bool turned = orientation >= 5;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  Picture out;
  out.whole = turned ? PictureSize{from.width, from.height} : from;
  out.region = {0, 0, out.whole.height, out.whole.width};
  out.rgb.resize(picture.rgb.size());
  std::uint8_t* to = out.rgb.data();
  for (std::int64_t y = 0; y < out.whole.height; ++y) {
    for (std::int64_t x = 0; x < out.whole.width; ++x, to += 3) {
      // In an orientation that lies on its side, an upright row is a stored column.
      const std::int64_t column = turned ? y : x, row = turned ? x : y;
      const bool flip_row = turned ? from_right : from_bottom,
                 flip_column = turned ? from_bottom : from_right;
      const std::int64_t source_row = flip_row ? from.height - 1 - row : row;
      const std::int64_t source_column = flip_column ? from.width - 1 - column : column;
      std::copy_n(picture.Row(source_row) + source_column * 3, 3, to);
    }
  }
  return out;
}

}  // namespace retort::storage
