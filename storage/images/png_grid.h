// Small images side by side as one PNG.
#pragma once

#include <string>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

// images: u8 [rows, channels, height, width], 1 channel (grey) or 3 (red, green, blue), at least one row.
// They stand row by row in a square as near as can be, a white line of one pixel between them. Error:
// refused, for other images, and for an image of more than 2^28 pixels.
[[nodiscard]] Result<std::string> EncodePngGrid(const TensorBlob& images);

}  // namespace retort::storage
