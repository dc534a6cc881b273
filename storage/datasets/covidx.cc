// COVIDx CXR: train_COVIDx9B.txt and the like, "PATIENT FILE CLASS SOURCE" a line, and the images in train/
// and test/.
#include <algorithm>
#include <utility>

#include "storage/datasets/readers.h"

namespace retort::storage {
namespace {

struct Version {
  std::string_view name;
  std::vector<std::string> classes;
  std::int64_t train, test;  // published; 0 = not known
};

Version FindVersion(const std::string& name) {
  if (name == "9B") return {"9B", {"negative", "positive"}, 30482, 400};
  if (name == "9A") return {"9A", {"normal", "pneumonia", "COVID-19"}, 30130, 400};
  return {"5", {"normal", "pneumonia", "COVID-19"}, 13958, 0};
}

// Anywhere in the tree: below labels/ as it is published, or beside the images.
Result<const TreeFile*> FindList(const DataSpec& data, const FileTree& tree, const std::string& part,
                                 const Version& version) {
  const std::string name = part + "_COVIDx" + std::string(version.name) + ".txt";
  for (const std::string& wanted : {name, part + ".txt"})
    if (const auto folder = FindFolderWith(tree, wanted)) return tree.Find(*folder + wanted);
  std::string others;
  for (const TreeFile& file : tree.files())
    if (file.name.find(part + "_COVIDx") != std::string::npos) others += (others.empty() ? "" : ", ") + file.name;
  return MissingFile(data, tree.path() + "/" + name,
                     others.empty() ? "the lists are in the folder labels of the COVID-Net repository"
                                    : "there is " + others + ": set version to that of the list");
}

Status AddPart(const DataSpec& data, const std::string& part, const Version& version, ExampleSet& set) {
  const FileTree& tree = *set.files;
  RETORT_ASSIGN_OR_RETURN(const TreeFile* const list, FindList(data, tree, part, version));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(tree, *list));
  const std::string where = tree.Where(*list);
  std::string folder;  // of the images: found with the first
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string_view> words = SplitWords(lines[i]);
    if (words.empty()) continue;
    if (words.size() < 3 || words.size() > 4)
      return LineError(where, i + 1,
                       "expected PATIENT FILE CLASS SOURCE, found " + std::to_string(words.size()) + " words");
    const auto label = std::find(version.classes.begin(), version.classes.end(), words[2]);
    if (label == version.classes.end())
      return LineError(where, i + 1,
                       "\"" + std::string(words[2]) + "\" is no class of version " + std::string(version.name) +
                           "; set version to that of the list");
    const std::string tail = part + "/" + std::string(words[1]);
    if (folder.empty()) {
      const auto found = FindFolderWith(tree, tail);
      if (found) folder = *found + part + "/";
    }
    const TreeFile* image = folder.empty() ? nullptr : tree.Find(folder + std::string(words[1]));
    if (image == nullptr)
      return MissingFile(data, tree.path() + "/" + (folder.empty() ? part + "/" : folder) + std::string(words[1]),
                         "line " + std::to_string(i + 1) + " of " + where + " names it");
    set.pictures.push_back(*image);
    set.labels.push_back(label - version.classes.begin());
  }
  EndPart(set, part);
  set.sources.push_back(where);
  return {};
}

}  // namespace

Result<ExampleSet> ReadCovidx(Env& env, const DataSpec& data) {
  const Version version = FindVersion(data.version);
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(set.files, OpenFileTree(env, data.path));
  set.class_names = version.classes;
  set.classes = static_cast<std::int64_t>(version.classes.size());
  for (const std::string part : {"train", "test"}) RETORT_RETURN_IF_ERROR(AddPart(data, part, version, set));
  for (const DataPart& part : set.parts) {
    const std::int64_t published = part.name == "train" ? version.train : version.test;
    if (published != 0 && part.size() != published)
      set.findings.push_back("Part \"" + part.name + "\" holds " + std::to_string(part.size()) +
                             " pictures; the published list of version " + std::string(version.name) + " has " +
                             std::to_string(published) + ".");
  }
  return set;
}

}  // namespace retort::storage
