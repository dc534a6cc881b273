// From a picture's bytes to the u8 planes that are cached and shown to networks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/preprocessing.h"
#include "experiments/spec/status.h"
#include "storage/pictures/picture_decode.h"

namespace retort::storage {

// What is kept of a picture of `size`: resized to `resized` after `top` rows were taken off, then cut.
struct PreparationPlan {
  std::int64_t top = 0;  // rows of the file's picture taken off
  PictureSize rest;      // what is left of it
  PictureSize resized;
  Region kept;  // of the resized picture
};

// Sizes as torchvision's Resize and CenterCrop choose them.
// Error: damage, naming the picture, when the cut asked for is larger than the picture.
[[nodiscard]] Result<PreparationPlan> PlanPreparation(const std::string& name, const PictureSize& size,
                                                      const Preprocessing& preprocessing);

struct PreparedPicture {
  PictureSize size;
  std::vector<std::uint8_t> planes;  // [3, size.height, size.width]: red, green, blue
};

// `channels` 3, or 1: the grey that Pillow's convert("L") makes of RGB, (19595 R + 38470 G + 7471 B + 2^15) /
// 2^16, after the cut; planes are then [1, height, width]. Errors: those of DecodePicture and
// PlanPreparation.
[[nodiscard]] Result<PreparedPicture> PreparePicture(const std::string& name, std::string_view bytes,
                                                     const Preprocessing& preprocessing,
                                                     const PictureLimits& limits = {},
                                                     std::int64_t channels = 3);

// The box that `choose` names, cut out of the picture and then resized to `size`: nothing beyond its borders
// is looked at. Errors: those of DecodePicture.
[[nodiscard]] Result<PreparedPicture> PrepareRegion(const std::string& name, std::string_view bytes,
                                                    const RegionChoice& choose, const PictureSize& size,
                                                    const PictureOptions& options, std::int64_t channels);
// The same of a picture that holds the box.
[[nodiscard]] PreparedPicture ResizeRegion(const Picture& picture, const Region& box, const PictureSize& size,
                                           std::int64_t channels);

}  // namespace retort::storage
