#include "storage/pictures/picture_decode.h"

#include <new>

#include "storage/pictures/picture_format.h"

namespace retort::storage {
namespace {

Region Everything(const PictureSize& size) { return {0, 0, size.height, size.width}; }

Result<Picture> Decode(const std::string& name, std::string_view bytes, const PictureOptions& options,
                       const RegionChoice& choose) {
  const int orientation = options.orientation == ExifOrientation::apply && (IsJpeg(bytes) || IsPng(bytes))
                              ? OrientationOf(bytes)
                              : 1;
  if (IsPng(bytes)) {
    RETORT_ASSIGN_OR_RETURN(Picture picture, DecodePng(name, bytes, options.limits));
    return Upright(std::move(picture), orientation);
  }
  if (!IsJpeg(bytes)) {
    return DamageError("'" + name + "' is no JPEG (FF D8 FF) and no PNG (89 50 4E 47): its " +
                       std::to_string(bytes.size()) + " bytes begin otherwise.");
  }
  RETORT_ASSIGN_OR_RETURN(Picture picture,
                          DecodeJpeg(name, bytes, options.limits, orientation == 1 ? choose : Everything));
  return Upright(std::move(picture), orientation);
}

}  // namespace

Status CheckDeclaredSize(const std::string& name, std::uint64_t height, std::uint64_t width,
                         const PictureLimits& limits, std::uint64_t bytes_held,
                         std::uint64_t pixels_per_byte) {
  const std::string declared =
      "'" + name + "' declares " + std::to_string(width) + " x " + std::to_string(height) + " pixels";
  if (height == 0 || width == 0) return DamageError(declared + ": a picture has at least one.");
  const auto side = static_cast<std::uint64_t>(limits.side);
  if (height > side || width > side)
    return Refused(declared + ", more than the " + std::to_string(side) + " that a side may have.");
  if (height * width > static_cast<std::uint64_t>(limits.pixels)) {
    return Refused(declared + ", more than the " + std::to_string(limits.pixels) +
                   " that a picture may have in all.");
  }
  if (height * width / pixels_per_byte > bytes_held) {
    return DamageError(declared + ", which its " + std::to_string(bytes_held) +
                       " bytes cannot hold: the file is truncated, or its header is false.");
  }
  return {};
}

Result<Picture> DecodePicture(const std::string& name, std::string_view bytes, const PictureOptions& options,
                              const RegionChoice& choose) {
  try {
    return Decode(name, bytes, options, choose);
  } catch (const std::bad_alloc&) {
    return EnvironmentError("There is no memory to decode '" + name +
                            "': fewer decoding threads need less of it.");
  }
}

Result<Picture> DecodePicture(const std::string& name, std::string_view bytes,
                              const PictureOptions& options) {
  return DecodePicture(name, bytes, options, Everything);
}

}  // namespace retort::storage
