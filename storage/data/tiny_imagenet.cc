// Tiny ImageNet 200: train/WNID/images/*.JPEG, and val/images with val/val_annotations.txt ("FILE\tWNID\t..."
// a line).
#include <map>
#include <utility>

#include "storage/data/readers.h"
#include "storage/data/text_lines.h"
#include "storage/data/unread_files.h"

namespace retort::storage {
namespace {

Status AddValidation(const DataSpec& data, const std::string& root,
                     const std::vector<std::pair<std::string, std::int64_t>>& classes, ExampleSet& set) {
  const FileTree& tree = *set.files;
  const TreeFile* list = tree.Find(root + "val/val_annotations.txt");
  if (list == nullptr)
    return MissingFile(data, tree.path() + "/" + root + "val/val_annotations.txt",
                       "it names the class of each validation picture");
  const std::map<std::string, std::int64_t> numbers(classes.begin(), classes.end());
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(tree, *list));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string_view> words = Words(lines[i]);
    if (words.empty()) continue;
    if (words.size() < 2) return LineError(tree.Where(*list), i + 1, "expected FILE and WNID");
    const auto number = numbers.find(std::string(words[1]));
    if (number == numbers.end())
      return LineError(tree.Where(*list), i + 1, "\"" + std::string(words[1]) + "\" is no folder in train");
    const std::string name = root + "val/images/" + std::string(words[0]);
    const TreeFile* picture = tree.Find(name);
    if (picture == nullptr)
      return MissingFile(data, tree.path() + "/" + name,
                         "line " + std::to_string(i + 1) + " of " + tree.Where(*list) + " names it");
    set.pictures.push_back(*picture);
    set.labels.push_back(number->second);
  }
  return {};
}

}  // namespace

Result<ExampleSet> ReadTinyImageNet(Env& env, const DataSpec& data) {
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(set.files, OpenFileTree(env, data.path));
  const FileTree& tree = *set.files;
  std::optional<std::string> root = FolderOf(tree, "wnids.txt");
  if (!root) root = FolderOf(tree, "val/val_annotations.txt");
  if (!root)
    return MissingFile(data, data.path + "/wnids.txt",
                       "expected tiny-imagenet-200, as a folder or as its .zip");
  if (ClassFolders(tree, *root + "train/").empty())
    return MissingFile(data, data.path + "/" + *root + "train/WNID/images/*.JPEG",
                       "expected a folder for each class");
  RETORT_ASSIGN_OR_RETURN(const auto classes, NumberClasses(tree, *root, {*root + "train/"}, set, &IsWnid));
  RETORT_RETURN_IF_ERROR(AddClassFolders(tree, *root + "train/", classes, set));
  EndPart(set, "train");
  RETORT_RETURN_IF_ERROR(AddValidation(data, *root, classes, set));
  EndPart(set, "validation");
  WarnOfUnreadPictures(tree, set);
  WarnOfEmptyClasses(classes, set);
  for (const DataPart& part : set.parts) {
    const std::int64_t published = part.name == "train" ? 100000 : 10000;
    if (part.size() != published)
      set.findings.push_back("Part \"" + part.name + "\" holds " + std::to_string(part.size()) +
                             " pictures; the published set has " + std::to_string(published) + ".");
  }
  set.sources.push_back(data.path);
  return set;
}

}  // namespace retort::storage
