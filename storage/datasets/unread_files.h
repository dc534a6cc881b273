// Files of a set of images that no reader takes.
#pragma once

#include <string>
#include <string_view>

#include "storage/datasets/example_store.h"
#include "storage/datasets/file_tree.h"

namespace retort::storage {

// Whether the name is that of an image of a kind that no reader takes: "a.webp".
[[nodiscard]] bool IsUnreadImageName(std::string_view name);
// "11 images are of kinds that are not read (6 .webp, 5 .bmp)"; empty where there are none.
[[nodiscard]] std::string DescribeUnreadImages(const FileTree& tree);
// Adds a warning about such images, and a finding about files that are no images, by kind.
void WarnAboutUnreadImages(const FileTree& tree, ExampleSet& set);
void ReportOtherFiles(const FileTree& tree, ExampleSet& set);

// Above this share of clipped pixels there is a warning.
inline constexpr double kClippedWarningShare = 0.01;
// Whether the bytes are a PNG of 16-bit grey, whose levels above 255 are clipped.
[[nodiscard]] bool IsWideGrey(std::string_view bytes);
// The share of such an image's pixels that are clipped; 0 where it cannot be decoded. `name` is for messages.
[[nodiscard]] double ClippedShare(const std::string& name, std::string_view bytes);

}  // namespace retort::storage
