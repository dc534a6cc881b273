// Pictures in a folder a class, below train/ and test/ or val/ where these are there.
#include <algorithm>
#include <utility>

#include "storage/data/readers.h"

namespace retort::storage {
namespace {

struct PartFolder {
  std::string part, prefix;
};

constexpr std::pair<std::string_view, std::string_view> kPartNames[] = {{"train", "train"},
                                                                        {"validation", "val"},
                                                                        {"validation", "valid"},
                                                                        {"validation", "validation"},
                                                                        {"test", "test"}};

bool IsPartName(std::string_view name) {
  return std::any_of(std::begin(kPartNames), std::end(kPartNames),
                     [name](const auto& known) { return known.second == name; });
}

// The folder in which classes or parts lie: the only folder at the top is passed over when folders with
// pictures lie in it.
std::string Root(const FileTree& tree) {
  std::string root;
  while (true) {
    const std::vector<std::string> names = ClassFolders(tree, root);
    if (names.size() != 1 || IsPartName(names.front())) return root;
    const std::string below = root + names.front() + "/";
    if (ClassFolders(tree, below).empty()) return root;
    root = below;
  }
}

}  // namespace

Result<ExampleSet> ReadPictures(Env& env, const DataSpec& data) {
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(set.files, OpenFileTree(env, data.path));
  const std::string root = Root(*set.files);
  const std::vector<std::string> names = ClassFolders(*set.files, root);
  std::vector<PartFolder> parts;
  for (const auto& [part, folder] : kPartNames)
    if (std::find(names.begin(), names.end(), folder) != names.end())
      parts.push_back({std::string(part), root + std::string(folder) + "/"});
  if (parts.size() != names.size() || parts.empty()) parts = {{"", root}};
  std::vector<std::string> prefixes;
  for (const PartFolder& part : parts) prefixes.push_back(part.prefix);
  RETORT_ASSIGN_OR_RETURN(const auto classes, NumberClasses(*set.files, root, prefixes, set));
  for (const PartFolder& part : parts) {
    RETORT_RETURN_IF_ERROR(AddClassFolders(*set.files, part.prefix, classes, set));
    if (part.part.empty()) break;
    EndPart(set, part.part);
    const std::size_t here = ClassFolders(*set.files, part.prefix).size();
    if (here != classes.size())
      set.findings.push_back("Part \"" + part.part + "\" has pictures of " + std::to_string(here) + " of " +
                             std::to_string(classes.size()) + " classes.");
  }
  if (set.labels.empty())
    return MissingFile(data, data.path + "/CLASS/NAME.jpg",
                       "expected JPEG or PNG pictures in a folder for each class");
  WarnOfEmptyClasses(classes, set);
  set.sources.push_back(data.path);
  return set;
}

}  // namespace retort::storage
