// What the readers share: files with names of their own, parts, and folders that are classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/datasets/example_store.h"
#include "storage/datasets/file_tree.h"

namespace retort::storage {

// Ends in .jpg, .jpeg, .jfif, .jpe (all JPEG) or .png, of any case.
[[nodiscard]] bool IsImageName(std::string_view name);
// Finds the folder ("" or ending in '/') of the first file in the tree whose name ends in `tail`; nothing when there is
// none.
[[nodiscard]] std::optional<std::string> FindFolderWith(const FileTree& tree, std::string_view tail);
// Ends a part that began where the last one ended, unless nothing was added since.
void EndPart(ExampleSet& set, const std::string& name);
// Environment error: "data.NAME: WHERE is missing; WHAT".
[[nodiscard]] Status MissingFile(const DataSpec& data, const std::string& where, const std::string& what);

// Adds the images below `prefix`/CLASS/ with the class's number in `classes` (sorted by name). Images of other folders
// are an error: damage. Images directly in `prefix` are left out, and a finding says how many.
[[nodiscard]] Status AddClassFolders(const FileTree& tree, const std::string& prefix,
                                     const std::vector<std::pair<std::string, std::int64_t>>& classes, ExampleSet& set);
// Names of the folders directly below `prefix` that hold images, sorted.
[[nodiscard]] std::vector<std::string> ClassFolders(const FileTree& tree, const std::string& prefix);
// Names of all folders directly below `prefix`, whatever they hold, sorted.
[[nodiscard]] std::vector<std::string> FoldersBelow(const FileTree& tree, const std::string& prefix);
// Says by its name whether a folder without images is a class.
using IsClassName = bool (*)(std::string_view name);
// Numbers the folders directly below the prefixes in the order of their names, as torchvision does, those without
// images among them (`empty_counts`; null: all); or by class-index.csv ("INDEX,NAME" a line) in `folder` where there
// is one. Fills class_names and classes.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::int64_t>>> NumberClasses(
    const FileTree& tree, const std::string& folder, const std::vector<std::string>& prefixes, ExampleSet& set,
    IsClassName empty_counts = nullptr);
// Adds a warning that names those of `classes` without an example.
void WarnAboutEmptyClasses(const std::vector<std::pair<std::string, std::int64_t>>& classes, ExampleSet& set);
// "n01440764"
[[nodiscard]] bool IsWnid(std::string_view name);

}  // namespace retort::storage
