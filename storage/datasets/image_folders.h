// Sets of images in folders: which folders are parts, and which are classes. ReadImageFolders is in readers.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/datasets/example_store.h"
#include "storage/datasets/file_tree.h"

namespace retort::storage {

struct PartFolder {
  std::string part;    // "train", "validation", "test"; empty: the set has no parts
  std::string prefix;  // of the classes' folders: ends in '/', or is empty
};

// "train", "validation" or "test" for the names that people give to these: "Training", "valid", "test_set"; else empty.
[[nodiscard]] std::string_view ParsePartName(std::string_view folder);
// Finds the folder in which classes or parts lie: a single folder with images at the top is skipped when folders with
// images lie in it, unless its siblings show that it is a class.
[[nodiscard]] std::string FindImageRoot(const FileTree& tree);
// In the order train, validation, test. Parts are told by name where there is a train with class folders, and either a
// validation or test with some, or nothing else with class folders in folders; or where nothing but parts holds
// images. Else one without name, and the folders below `root` are classes. Warns of images that lie beside the parts,
// of two folders of one part, and of classes that look like none.
[[nodiscard]] std::vector<PartFolder> FindParts(const FileTree& tree, const std::string& root, ExampleSet& set);
// Warns of classes inside parts that look like none.
void WarnAboutClassesInParts(const std::vector<std::string>& classes, ExampleSet& set);

}  // namespace retort::storage
