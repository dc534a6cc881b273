// JPEG and PNG bytes to RGB, with the bits that Pillow's Image.open(...).convert("RGB") gives.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "storage/pictures/picture.h"

namespace retort::storage {

// What of a picture of this size is wanted: within it, and not empty.
using RegionChoice = std::function<Region(const PictureSize&)>;

// `name` is for messages. JPEG: accurate IDCT, fancy upsampling; CMYK and YCCK inverted, as Adobe writes
// them. PNG: palettes are looked up, transparency is dropped, of 16 bits of a colour the upper 8 count, and
// 16-bit grey is clipped at 255 (all as Pillow does). Colour profiles and gamma are ignored. Decodes at least
// the region chosen; the picture says what it holds. A JPEG's lines outside of it are checked but not
// computed, a PNG and a progressive JPEG are held whole. Errors, each naming the picture: damage (no JPEG or
// PNG; truncated, with byte offset and line; broken data, also where Pillow would fill in grey); refused
// (above a limit).
[[nodiscard]] Result<Picture> DecodePicture(const std::string& name, std::string_view bytes,
                                            const PictureOptions& options, const RegionChoice& choose);
// All of it.
[[nodiscard]] Result<Picture> DecodePicture(const std::string& name, std::string_view bytes,
                                            const PictureOptions& options = {});

}  // namespace retort::storage
