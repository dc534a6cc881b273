// Pictures in a folder a class, below train/ and test/ or val/ where these are there.
#include <algorithm>
#include <string>
#include <vector>

#include "storage/data/picture_parts.h"
#include "storage/data/readers.h"
#include "storage/data/unread_files.h"

namespace retort::storage {
namespace {

// Where a network was trained on that part alone, torchvision numbered its folders alone.
void WarnOfClassesBeyondTraining(const FileTree& tree, const PartFolder& train, ExampleSet& set) {
  const std::vector<std::string> folders = FoldersBelow(tree, train.prefix);
  std::string beyond;
  std::size_t count = 0;
  for (const std::string& name : set.class_names) {
    if (std::find(folders.begin(), folders.end(), name) != folders.end()) continue;
    if (++count <= 10) beyond += (beyond.empty() ? "" : ", ") + name;
  }
  if (count == 0 || folders.empty()) return;
  set.warnings.push_back("Part \"train\" has no folder of " + std::to_string(count) + " of " +
                         std::to_string(set.class_names.size()) + " classes (" + beyond + (count > 10 ? ", ..." : "") +
                         "). Classes are numbered over all parts; a network that was trained on that part alone may "
                         "number them otherwise: class-index.csv says how.");
}

}  // namespace

Result<ExampleSet> ReadPictures(Env& env, const DataSpec& data) {
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(set.files, OpenFileTree(env, data.path));
  const std::string root = RootOfPictures(*set.files);
  const std::vector<PartFolder> parts = FindParts(*set.files, root, set);
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
  if (set.labels.empty()) {
    const std::string others = UnreadPictures(*set.files);
    return MissingFile(data, data.path + "/CLASS/NAME.jpg",
                       "expected JPEG or PNG pictures in a folder for each class" + (others.empty() ? "" : "; " + others));
  }
  if (parts.front().part == "train" && set.files->Find(root + "class-index.csv") == nullptr)
    WarnOfClassesBeyondTraining(*set.files, parts.front(), set);
  if (!parts.front().part.empty()) WarnOfClassesInParts(set.class_names, set);
  WarnOfUnreadPictures(*set.files, set);
  TellOfOtherFiles(*set.files, set);
  WarnOfEmptyClasses(classes, set);
  set.sources.push_back(data.path);
  return set;
}

}  // namespace retort::storage
