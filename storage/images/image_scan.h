// The outside of JPEG and PNG files: what can be said without decoding a pixel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/base/status.h"

namespace retort::storage {

struct EncodedImageSize {
  std::int64_t height = 0, width = 0, channels = 0;
};

// Of the header alone. `where` is for messages. Error: damage, naming the offset.
[[nodiscard]] Result<EncodedImageSize> ReadImageSize(const std::string& where, std::string_view bytes);

// Whether the file is whole: the segments of a JPEG up to its end marker, the chunks of a PNG with their
// checksums. Error: damage, naming the offset.
[[nodiscard]] Status CheckImageFile(const std::string& where, std::string_view bytes);

}  // namespace retort::storage
