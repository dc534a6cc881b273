#include "storage/images/image_scan.h"

#include "storage/formats/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::string_view kPngHead = "\x89PNG\r\n\x1a\n";

std::uint32_t BigEndian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

Status Damaged(const std::string& where, std::size_t at, const std::string& what) {
  return DamageError(where + ": at byte " + std::to_string(at) + " of the picture: " + what);
}

bool IsFrame(unsigned char marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// The next marker behind coded data, from `at` on; npos when there is none.
std::size_t NextMarker(std::string_view bytes, std::size_t at) {
  while ((at = bytes.find('\xFF', at)) != std::string_view::npos && at + 1 < bytes.size()) {
    const auto next = static_cast<unsigned char>(bytes[at + 1]);
    if (next != 0 && next != 0xFF && (next < 0xD0 || next > 0xD7)) return at;
    ++at;
  }
  return std::string_view::npos;
}

// Up to the frame's header (`whole` false), or to the end marker.
Result<EncodedImageSize> ScanJpeg(const std::string& where, std::string_view bytes, bool whole) {
  EncodedImageSize size;
  std::size_t at = 2;
  while (true) {
    while (at + 1 < bytes.size() && bytes[at] == '\xFF' && bytes[at + 1] == '\xFF') ++at;
    if (bytes.size() - at < 2) return Damaged(where, bytes.size(), "truncated between two segments");
    const auto marker = static_cast<unsigned char>(bytes[at + 1]);
    if (bytes[at] != '\xFF') return Damaged(where, at, "no marker where a segment begins");
    if (marker == 0xD9) {
      if (size.height == 0) return Damaged(where, at, "it ends without a picture");
      return size;
    }
    if (bytes.size() - at < 4) return Damaged(where, bytes.size(), "truncated inside a segment");
    const std::size_t length = BigEndian(bytes, at + 2, 2);
    if (length < 2 || length > bytes.size() - at - 2) return Damaged(where, at, "truncated inside a segment");
    if (IsFrame(marker)) {
      if (length < 8) return Damaged(where, at, "a frame without size");
      size = {BigEndian(bytes, at + 5, 2), BigEndian(bytes, at + 7, 2), static_cast<unsigned char>(bytes[at + 9])};
      if (size.height == 0 || size.width == 0) return Damaged(where, at, "a picture without pixels");
      if (!whole) return size;
    }
    at += 2 + length;
    if (marker != 0xDA) continue;
    const std::size_t next = NextMarker(bytes, at);
    if (next == std::string_view::npos) return Damaged(where, bytes.size(), "truncated: the end marker is missing");
    at = next;
  }
}

Result<EncodedImageSize> ScanPng(const std::string& where, std::string_view bytes, bool whole) {
  EncodedImageSize size;
  for (std::size_t at = kPngHead.size(); true;) {
    if (bytes.size() - at < 12) return Damaged(where, bytes.size(), "truncated between two chunks");
    const std::size_t length = BigEndian(bytes, at, 4);
    const std::string_view type = bytes.substr(at + 4, 4);
    if (length > bytes.size() - at - 12) return Damaged(where, at, "truncated inside a chunk");
    if (at == kPngHead.size()) {
      if (type != "IHDR" || length != 13) return Damaged(where, at, "the first chunk is not the header");
      const unsigned char color = static_cast<unsigned char>(bytes[at + 17]);
      size = {BigEndian(bytes, at + 12, 4), BigEndian(bytes, at + 8, 4), color == 0 || color == 4 ? 1 : 3};
      if (size.height == 0 || size.width == 0) return Damaged(where, at, "a picture without pixels");
      if (!whole) return size;
    }
    if (ExtendCrc32(0, bytes.substr(at + 4, length + 4)) != BigEndian(bytes, at + 8 + length, 4))
      return Damaged(where, at, "the checksum of a chunk does not hold");
    if (type == "IEND") return size;
    at += 12 + length;
  }
}

Result<EncodedImageSize> Scan(const std::string& where, std::string_view bytes, bool whole) {
  if (bytes.starts_with("\xFF\xD8")) return ScanJpeg(where, bytes, whole);
  if (bytes.starts_with(kPngHead)) return ScanPng(where, bytes, whole);
  return Damaged(where, 0, bytes.empty() ? "the file is empty" : "neither a JPEG nor a PNG file");
}

}  // namespace

Result<EncodedImageSize> ReadImageSize(const std::string& where, std::string_view bytes) {
  return Scan(where, bytes, false);
}

Status CheckImageFile(const std::string& where, std::string_view bytes) { return Scan(where, bytes, true).status(); }

}  // namespace retort::storage
