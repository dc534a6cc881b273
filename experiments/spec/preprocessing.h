// How the pictures of a data set become the tensors that networks see: keys of [data.NAME].
#pragma once

#include <cstdint>

#include "experiments/spec/status.h"

namespace retort {

// What becomes of a data set with a picture that cannot be decoded.
enum class OnError : std::uint8_t {
  fail,            // the trial ends, naming the picture
  skip_and_count,  // the picture is absent from its split, and counted; the others stay where they are
};

// In this order: rows off the top, resize (bilinear with antialias, as Pillow does it), centre crop. All
// lengths in pixels; 0 = not done. Part of a trial's identity.
struct Preprocessing {
  double crop_top = 0;      // fraction of the rows taken off the top, [0, 1); COVIDx uses 0.08
  std::int64_t resize = 0;  // the short side becomes this, the aspect stays; not with height and width
  std::int64_t height = 0, width = 0;  // resized to exactly this; both or neither
  std::int64_t crop = 0;               // side of the square cut from the centre
  bool exif_orientation = false;       // turn pictures as their EXIF says; torchvision's loader does not
  OnError on_error = OnError::fail;
  bool operator==(const Preprocessing&) const = default;
};

// torchvision's presets for ImageNet: weights V1, and V2.
inline constexpr Preprocessing kImageNetV1{.resize = 256, .crop = 224};
inline constexpr Preprocessing kImageNetV2{.resize = 232, .crop = 224};

inline constexpr std::int64_t kMostPreparedSide = 4096;  // px
// Error: usage, naming the keys: both resize and size, a crop larger than what is cut, a side above
// kMostPreparedSide, a resize without a crop, ...
[[nodiscard]] Status CheckPreprocessing(const Preprocessing& preprocessing);

// Sides of every picture so prepared; zeros when each keeps its own.
struct PreparedSides {
  std::int64_t height = 0, width = 0;
};
[[nodiscard]] PreparedSides SidesAfter(const Preprocessing& preprocessing);

}  // namespace retort
