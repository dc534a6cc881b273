// The readers of single formats, and what they share. Errors as of OpenExamples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/data/example_store.h"

namespace retort::storage {

// idx, by idx_file.h: part "train" of the train pair, "test" of the t10k pair.
[[nodiscard]] Result<ExampleSet> ReadIdxSet(Env& env, const DataSpec& data);
// cifar10 and cifar100 (target "fine" or "coarse"): binary or python version, packed or not.
[[nodiscard]] Result<ExampleSet> ReadCifar(Env& env, const DataSpec& data);
// MATLAB files of version 5 to 7; label 10 is the digit 0.
[[nodiscard]] Result<ExampleSet> ReadSvhn(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadMedMnist(Env& env, const DataSpec& data);
// target "gender": 0 female, 1 male. "hair": 0 black, 1 blond, 2 brown; pictures with none of these, or with
// several, are left out and counted.
[[nodiscard]] Result<ExampleSet> ReadCelebA(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadCovidx(Env& env, const DataSpec& data);
// Classes in the order of their WNIDs, or as class-index.csv says.
[[nodiscard]] Result<ExampleSet> ReadImageNet(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadTinyImageNet(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadPictures(Env& env, const DataSpec& data);

// Ends in .jpg, .jpeg, .jfif, .jpe (all JPEG) or .png, of any case.
[[nodiscard]] bool IsPictureName(std::string_view name);
// The folder of the one file or folder in the tree whose name ends in `tail` ("" or ending in '/'); nothing
// when there is none.
[[nodiscard]] std::optional<std::string> FolderOf(const FileTree& tree, std::string_view tail);
// Ends the part that began where the last one ended; none when nothing was added since.
void EndPart(ExampleSet& set, const std::string& name);
// environment: "data.NAME: WHERE is missing; WHAT".
[[nodiscard]] Status MissingFile(const DataSpec& data, const std::string& where, const std::string& what);

// Pictures below `prefix`/CLASS/ with the class's number in `classes` (sorted by name). Those of other
// folders are an error: damage. Pictures directly in `prefix` are left out, and a finding says how many.
[[nodiscard]] Status AddClassFolders(const FileTree& tree, const std::string& prefix,
                                     const std::vector<std::pair<std::string, std::int64_t>>& classes,
                                     ExampleSet& set);
// Names of the folders directly below `prefix` that hold pictures, sorted.
[[nodiscard]] std::vector<std::string> ClassFolders(const FileTree& tree, const std::string& prefix);
// Names of all folders directly below `prefix`, whatever they hold, sorted.
[[nodiscard]] std::vector<std::string> FoldersBelow(const FileTree& tree, const std::string& prefix);
// Which folders without pictures are classes, by name.
using IsClassName = bool (*)(std::string_view name);
// Numbers the folders directly below the prefixes in the order of their names, as torchvision does, those without
// pictures among them (`empty_counts`; null: all); or by class-index.csv ("INDEX,NAME" a line) in `folder` where there
// is one. Fills class_names and classes.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::int64_t>>> NumberClasses(
    const FileTree& tree, const std::string& folder, const std::vector<std::string>& prefixes, ExampleSet& set,
    IsClassName empty_counts = nullptr);
// A warning that names those of `classes` without an example.
void WarnOfEmptyClasses(const std::vector<std::pair<std::string, std::int64_t>>& classes, ExampleSet& set);
// "n01440764"
[[nodiscard]] bool IsWnid(std::string_view name);

}  // namespace retort::storage
