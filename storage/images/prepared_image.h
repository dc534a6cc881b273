// From an image's bytes to the u8 planes that are cached and shown to networks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/data_spec.h"
#include "storage/images/image_decoder.h"

namespace retort::storage {

// What is kept of an image of `size`: resized to `resized` after `top` rows were taken off, then cut.
struct PreparationPlan {
  std::int64_t top = 0;  // rows of the file's image taken off
  ImageSize rest;        // what is left of it
  ImageSize resized;
  Region kept;  // of the resized image
};

// Sizes as torchvision's Resize and CenterCrop choose them.
// Error: damage, naming the image, when the cut asked for is larger than the image.
[[nodiscard]] Result<PreparationPlan> PlanPreparation(const std::string& name, const ImageSize& size,
                                                      const Preprocessing& preprocessing);

struct PreparedImage {
  ImageSize size;
  std::vector<std::uint8_t> planes;  // [3, size.height, size.width]: red, green, blue
};

// `channels` 3, or 1: the grey that Pillow's convert("L") makes of RGB, (19595 R + 38470 G + 7471 B + 2^15) /
// 2^16, after the cut; planes are then [1, height, width]. Errors: those of DecodeImage and
// PlanPreparation.
[[nodiscard]] Result<PreparedImage> PrepareImage(const std::string& name, std::string_view bytes,
                                                 const Preprocessing& preprocessing, const ImageLimits& limits = {},
                                                 std::int64_t channels = 3);

// The box that `choose` names, cut out of the image and then resized to `size`: nothing beyond its borders
// is looked at. Errors: those of DecodeImage.
[[nodiscard]] Result<PreparedImage> PrepareRegion(const std::string& name, std::string_view bytes,
                                                  const RegionChoice& choose, const ImageSize& size,
                                                  const ImageOptions& options, std::int64_t channels);
// The same of an image that holds the box.
[[nodiscard]] PreparedImage ResizeRegion(const DecodedImage& image, const Region& box, const ImageSize& size,
                                         std::int64_t channels);

}  // namespace retort::storage
