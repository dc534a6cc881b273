// The readers of the two formats; DecodePicture chooses between them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "storage/pictures/picture_decode.h"

namespace retort::storage {

[[nodiscard]] bool IsJpeg(std::string_view bytes);
[[nodiscard]] bool IsPng(std::string_view bytes);

// As DecodePicture, before any orientation.
[[nodiscard]] Result<Picture> DecodeJpeg(const std::string& name, std::string_view bytes,
                                         const PictureLimits& limits, const RegionChoice& choose);
[[nodiscard]] Result<Picture> DecodePng(const std::string& name, std::string_view bytes,
                                        const PictureLimits& limits);

// Error: refused when a declared size is beyond the limits, or (damage) more than `bytes_held` can hold at
// `pixels_per_byte`, the best that the format's compression can do.
[[nodiscard]] Status CheckDeclaredSize(const std::string& name, std::uint64_t height, std::uint64_t width,
                                       const PictureLimits& limits, std::uint64_t bytes_held,
                                       std::uint64_t pixels_per_byte);

// 1..8 as EXIF 2.3 numbers them; 1 where the picture says nothing or nothing sensible.
[[nodiscard]] int OrientationOf(std::string_view bytes);
// Turned and mirrored to stand upright. `picture` is whole.
[[nodiscard]] Picture Upright(Picture picture, int orientation);

}  // namespace retort::storage
