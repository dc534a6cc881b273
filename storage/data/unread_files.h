// Files of a set of pictures that no reader takes.
#pragma once

#include <string>
#include <string_view>

#include "storage/data/example_store.h"
#include "storage/data/file_tree.h"

namespace retort::storage {

// Of a kind that no reader takes, as "a.webp".
[[nodiscard]] bool IsUnreadPicture(std::string_view name);
// "11 pictures are of kinds that are not read (6 .webp, 5 .bmp)"; empty where there are none.
[[nodiscard]] std::string UnreadPictures(const FileTree& tree);
// A warning of these; a finding of what is no picture, by kind.
void WarnOfUnreadPictures(const FileTree& tree, ExampleSet& set);
void TellOfOtherFiles(const FileTree& tree, ExampleSet& set);

// Above this share of its pixels a picture is told of.
inline constexpr double kMuchClipped = 0.01;
// Whether the bytes are a PNG of 16-bit grey, whose levels above 255 are clipped.
[[nodiscard]] bool IsWideGrey(std::string_view bytes);
// The share of such a picture's pixels that are clipped; 0 where it cannot be decoded. `name` is for messages.
[[nodiscard]] double ClippedShare(const std::string& name, std::string_view bytes);

}  // namespace retort::storage
