// The readers of single formats, and what they share: files with names of their own, parts, folders that are classes,
// lines of text, files that no reader takes.
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

// Errors as of OpenExamples. One source file defines each; ReadIdxSet is in example_store.cc.

// idx, by idx_file.h: part "train" of the train pair, "test" of the t10k pair.
[[nodiscard]] Result<ExampleSet> ReadIdxSet(Env& env, const DataSpec& data);
// cifar10 and cifar100 (target "fine" or "coarse"): binary or python version, packed or not.
[[nodiscard]] Result<ExampleSet> ReadCifar(Env& env, const DataSpec& data);
// MATLAB files of version 5 to 7; label 10 is the digit 0.
[[nodiscard]] Result<ExampleSet> ReadSvhn(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadMedMnist(Env& env, const DataSpec& data);
// As `retort sample` writes them: one .npz of `images`, u8 [n, 1 or 3, H, W], and `labels`; archives of NAME.png with
// one NAME.cls each, in the order of their names.
[[nodiscard]] Result<ExampleSet> ReadNpzArrays(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadWebDataset(Env& env, const DataSpec& data);
// target "gender": 0 female, 1 male. "hair": 0 black, 1 blond, 2 brown; images with none of these, or with
// several, are left out and counted.
[[nodiscard]] Result<ExampleSet> ReadCelebA(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadCovidx(Env& env, const DataSpec& data);
// Classes in the order of their WNIDs, or as class-index.csv says.
[[nodiscard]] Result<ExampleSet> ReadImageNet(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadTinyImageNet(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadImageFolders(Env& env, const DataSpec& data);

// Files, parts and classes.

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
[[nodiscard]] std::vector<std::string> ListClassFolders(const FileTree& tree, const std::string& prefix);
// Names of all folders directly below `prefix`, whatever they hold, sorted.
[[nodiscard]] std::vector<std::string> ListFoldersBelow(const FileTree& tree, const std::string& prefix);
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

// Text files, by lines.

// Reads a file with SplitLines. Errors: of SplitLines; refused for more than 512 MiB; those of FileTree::Read.
[[nodiscard]] Result<std::vector<std::string>> ReadLines(const FileTree& tree, const TreeFile& file);
// Splits a text that anybody may have written into lines, without line ends ("\n", "\r\n", or "\r" alone) and without
// the byte order mark that some editors put before UTF-8. Error: refused for UTF-16, naming `where`.
[[nodiscard]] Result<std::vector<std::string>> SplitLines(const std::string& where, std::string_view text);
// Parts between blanks and tabs.
[[nodiscard]] std::vector<std::string_view> SplitWords(std::string_view line);
// Without blanks, tabs and "\r" at either end.
[[nodiscard]] std::string_view TrimText(std::string_view text);
// damage: "WHERE: line N: what".
[[nodiscard]] Status LineError(const std::string& where, std::size_t line, const std::string& what);

// Files of a set of images that no reader takes.

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
[[nodiscard]] double ComputeClippedShare(const std::string& name, std::string_view bytes);

}  // namespace retort::storage
