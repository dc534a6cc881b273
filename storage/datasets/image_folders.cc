#include "storage/datasets/image_folders.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/datasets/readers.h"

namespace retort::storage {
namespace {

// Known since the first release, in the order in which their examples follow one another; others come behind.
constexpr std::array<std::string_view, 5> kPartNames = {"train", "val", "valid", "validation", "test"};
constexpr std::array<std::string_view, 3> kParts = {"train", "validation", "test"};
constexpr std::size_t kMaxNamesInText = 10;

bool IsExact(std::string_view name) {
  return std::find(kPartNames.begin(), kPartNames.end(), name) != kPartNames.end();
}

// Lower-case letters and digits.
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

// Folders that people keep beside their classes.
bool LooksLikeNoClass(const std::string& name) {
  static const std::set<std::string> kNames = {"pred",       "predict",       "prediction", "predictions", "unlabeled",
                                               "unlabelled", "unlabeleddata", "docs",       "doc",         "thumbs",
                                               "thumbnails", "cache",         "tmp",        "temp",        "backup",
                                               "pycache",    "logs",          "output"};
  return !ParsePartName(name).empty() || kNames.contains(Plain(name));
}

// "a, b, c, ..."
std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamesInText); ++i) text += (i > 0 ? ", " : "") + names[i];
  return text + (names.size() > kMaxNamesInText ? ", ..." : "");
}

std::size_t CountImagesBelow(const FileTree& tree, const std::string& prefix) {
  const auto files = tree.Below(prefix);
  return static_cast<std::size_t>(
      std::count_if(files.begin(), files.end(), [](const TreeFile* file) { return IsImageName(file->name); }));
}

// Below "training_set/" the folder "training_set/training_set/", as some sets are packed.
std::string InnerFolder(const FileTree& tree, const std::string& part, std::string prefix) {
  while (true) {
    const std::vector<std::string> names = ListClassFolders(tree, prefix);
    if (names.size() != 1 || ParsePartName(names.front()) != part) return prefix;
    if (ListClassFolders(tree, prefix + names.front() + "/").empty()) return prefix;
    prefix += names.front() + "/";
  }
}

// Folders beside this one that may be classes: without files, or with images that are not read.
std::vector<std::string> EmptySiblings(const FileTree& tree, const std::string& root, const std::string& name) {
  std::vector<std::string> siblings = ListFoldersBelow(tree, root);
  std::erase_if(siblings, [&](const std::string& other) {
    const auto files = tree.Below(root + other + "/");
    return other == name || !(files.empty() || std::any_of(files.begin(), files.end(), [](const TreeFile* file) {
                                return IsUnreadImageName(file->name);
                              }));
  });
  return siblings;
}

// A class whose own folders hold its images, beside classes that hold none which are read: it has one folder, or
// they have folders of the same names.
bool IsClassOfFolders(const FileTree& tree, const std::string& root, const std::string& name) {
  const std::vector<std::string> siblings = EmptySiblings(tree, root, name);
  const std::vector<std::string> inner = ListClassFolders(tree, root + name + "/");
  if (siblings.empty()) return false;
  if (inner.size() == 1 && ParsePartName(inner.front()).empty()) return true;
  return std::any_of(siblings.begin(), siblings.end(), [&](const std::string& sibling) {
    const std::vector<std::string> other = ListFoldersBelow(tree, root + sibling + "/");
    return std::find_first_of(inner.begin(), inner.end(), other.begin(), other.end()) != inner.end();
  });
}

// What lies beside the folders that FindImageRoot passes over.
void WarnAboutPassedOver(const FileTree& tree, const std::string& root, ExampleSet& set) {
  for (std::size_t begin = 0, end = root.find('/'); end != std::string::npos;
       begin = end + 1, end = root.find('/', begin)) {
    const std::vector<std::string> beside = EmptySiblings(tree, root.substr(0, begin), root.substr(begin, end - begin));
    if (!beside.empty())
      set.warnings.push_back("Classes are looked for in " + root.substr(0, end + 1) +
                             ", which alone holds pictures that are read; beside it lie " + Listed(beside) + ".");
  }
}

// The words of "seg_train", "train-256".
bool HasPartWord(std::string_view name) {
  std::string word;
  for (const char c : std::string(name) + "_") {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else {
      if (!ParsePartName(word).empty()) return true;
      word.clear();
    }
  }
  return false;
}

class PartSearch {
 public:
  PartSearch(const FileTree& tree, const std::string& root)
      : tree_(tree), root_(root), names_(ListClassFolders(tree, root)) {
    for (const std::string& name : names_)
      if (!ListClassFolders(tree, root + name + "/").empty()) deep_.insert(name);
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  [[nodiscard]] bool HasParts() const {
    if (!names_.empty() && std::all_of(names_.begin(), names_.end(), IsExact)) return true;
    std::set<std::string_view> parts;
    bool others = false;
    for (const std::string& name : deep_) {
      parts.insert(ParsePartName(name));
      others = others || ParsePartName(name).empty();
    }
    const bool two = parts.contains("validation") || parts.contains("test");
    return parts.contains("train") && (two || !others);
  }

  [[nodiscard]] std::vector<std::string> InOrder() const {
    std::vector<std::string> parts;
    for (const std::string& name : names_)
      if (!ParsePartName(name).empty()) parts.push_back(name);
    const auto rank = [](const std::string& name) {
      const auto part = std::find(kParts.begin(), kParts.end(), ParsePartName(name)) - kParts.begin();
      return std::pair(part, std::find(kPartNames.begin(), kPartNames.end(), name) - kPartNames.begin());
    };
    std::stable_sort(parts.begin(), parts.end(),
                     [&rank](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    return parts;
  }

  // Folders of which most, and not one alone, are called as parts are with words beside, as "seg_train"; or that
  // hold parts.
  [[nodiscard]] std::vector<std::string> FindFoldersLikeParts() const {
    std::vector<std::string> worded, holding;
    for (const std::string& name : names_) {
      if (HasPartWord(name)) worded.push_back(name);
      const std::vector<std::string> inner = ListClassFolders(tree_, root_ + name + "/");
      if (std::any_of(inner.begin(), inner.end(), [](const std::string& one) { return !ParsePartName(one).empty(); }))
        holding.push_back(name);
    }
    if (worded.size() < 2 || 2 * worded.size() < names_.size()) worded.clear();
    worded.insert(worded.end(), holding.begin(), holding.end());
    return worded;
  }

  // Folders of several classes that hold folders of the same names.
  [[nodiscard]] std::vector<std::string> FindAlikeFolders() const {
    std::map<std::string, std::vector<std::string>> holders;
    for (const std::string& name : deep_)
      for (const std::string& inner : ListClassFolders(tree_, root_ + name + "/")) holders[inner].push_back(name);
    std::map<std::string, std::size_t> shared;
    for (const auto& [inner, names] : holders)
      if (names.size() > 1)
        for (const std::string& name : names) ++shared[name];
    std::vector<std::string> alike;
    for (const auto& [name, count] : shared)
      if (count > 1) alike.push_back(name);
    return alike;
  }

 private:
  const FileTree& tree_;
  const std::string& root_;
  std::vector<std::string> names_;
  std::set<std::string> deep_;  // those of them in which folders with images lie
};

void WarnAboutOthers(const FileTree& tree, const std::string& root, const std::vector<std::string>& names,
                     const std::vector<std::string>& parts, ExampleSet& set) {
  std::vector<std::string> others;
  for (const std::string& name : names)
    if (std::find(parts.begin(), parts.end(), name) == parts.end())
      others.push_back(name + " (" + std::to_string(CountImagesBelow(tree, root + name + "/")) + " pictures)");
  if (!others.empty())
    set.warnings.push_back("Beside the parts " + Listed(parts) + " lie " + Listed(others) +
                           ", which are no parts; they are left out.");
  for (const std::string_view part : kParts) {
    std::vector<std::string> same;
    for (const std::string& name : parts)
      if (ParsePartName(name) == part) same.push_back(name);
    if (same.size() > 1)
      set.warnings.push_back("The folders " + Listed(same) + " are each taken for part \"" + std::string(part) +
                             "\"; a split that names it takes the first alone.");
  }
}

void WarnAboutClasses(const PartSearch& search, ExampleSet& set) {
  std::vector<std::string> suspicious = search.FindAlikeFolders();
  const auto add = [&suspicious](const std::string& name) {
    if (std::find(suspicious.begin(), suspicious.end(), name) == suspicious.end()) suspicious.push_back(name);
  };
  for (const std::string& name : search.FindFoldersLikeParts()) add(name);
  for (const std::string& name : search.names())
    if (LooksLikeNoClass(name)) add(name);
  if (suspicious.empty() || search.names().size() < 2) return;
  set.warnings.push_back("Taken for classes: " + Listed(suspicious) + ", of " + std::to_string(search.names().size()) +
                         " (" + Listed(search.names()) +
                         "). What is none has to lie elsewhere; parts are called train, val and test.");
}

}  // namespace

void WarnAboutClassesInParts(const std::vector<std::string>& classes, ExampleSet& set) {
  std::vector<std::string> suspicious;
  std::copy_if(classes.begin(), classes.end(), std::back_inserter(suspicious), LooksLikeNoClass);
  if (suspicious.empty()) return;
  set.warnings.push_back("Folders inside the parts are classes, these too: " + Listed(suspicious) + ", of " +
                         std::to_string(classes.size()) + " (" + Listed(classes) +
                         "). What is none has to lie elsewhere.");
}

std::string_view ParsePartName(std::string_view folder) {
  std::string name = Plain(folder);
  for (const std::string_view tail : {"set", "data", "images", "split"}) {
    if (!name.ends_with(tail)) continue;
    name.resize(name.size() - tail.size());
    break;
  }
  if (name == "train" || name == "training") return "train";
  if (name == "val" || name == "valid" || name == "validation") return "validation";
  return name == "test" || name == "testing" ? "test" : "";
}

std::string FindImageRoot(const FileTree& tree) {
  std::string root;
  while (true) {
    const std::vector<std::string> names = ListClassFolders(tree, root);
    if (names.size() != 1 || IsExact(names.front())) return root;
    const std::string below = root + names.front() + "/";
    if (ListClassFolders(tree, below).empty() || IsClassOfFolders(tree, root, names.front())) return root;
    root = below;
  }
}

std::vector<PartFolder> FindParts(const FileTree& tree, const std::string& root, ExampleSet& set) {
  const PartSearch search(tree, root);
  WarnAboutPassedOver(tree, root, set);
  if (!search.HasParts()) {
    WarnAboutClasses(search, set);
    return {{"", root}};
  }
  const std::vector<std::string> names = search.InOrder();
  WarnAboutOthers(tree, root, search.names(), names, set);
  std::vector<PartFolder> parts;
  for (const std::string& name : names) {
    const std::string part(ParsePartName(name));
    std::string prefix = root;
    prefix += name + "/";
    parts.push_back({part, InnerFolder(tree, part, std::move(prefix))});
  }
  return parts;
}

// Images in a folder a class, below train/ and test/ or val/ where these are there.
namespace {

// Where a network was trained on that part alone, torchvision numbered its folders alone.
void WarnAboutClassesBeyondTraining(const FileTree& tree, const PartFolder& train, ExampleSet& set) {
  const std::vector<std::string> folders = ListFoldersBelow(tree, train.prefix);
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

Result<ExampleSet> ReadImageFolders(Env& env, const DataSpec& data) {
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(set.files, OpenFileTree(env, data.path));
  const std::string root = FindImageRoot(*set.files);
  const std::vector<PartFolder> parts = FindParts(*set.files, root, set);
  std::vector<std::string> prefixes;
  for (const PartFolder& part : parts) prefixes.push_back(part.prefix);
  RETORT_ASSIGN_OR_RETURN(const auto classes, NumberClasses(*set.files, root, prefixes, set));
  for (const PartFolder& part : parts) {
    RETORT_RETURN_IF_ERROR(AddClassFolders(*set.files, part.prefix, classes, set));
    if (part.part.empty()) break;
    EndPart(set, part.part);
    const std::size_t here = ListClassFolders(*set.files, part.prefix).size();
    if (here != classes.size())
      set.findings.push_back("Part \"" + part.part + "\" has pictures of " + std::to_string(here) + " of " +
                             std::to_string(classes.size()) + " classes.");
  }
  if (set.labels.empty()) {
    const std::string others = DescribeUnreadImages(*set.files);
    return MissingFile(
        data, data.path + "/CLASS/NAME.jpg",
        "expected JPEG or PNG pictures in a folder for each class" + (others.empty() ? "" : "; " + others));
  }
  if (parts.front().part == "train" && set.files->Find(root + "class-index.csv") == nullptr)
    WarnAboutClassesBeyondTraining(*set.files, parts.front(), set);
  if (!parts.front().part.empty()) WarnAboutClassesInParts(set.class_names, set);
  WarnAboutUnreadImages(*set.files, set);
  ReportOtherFiles(*set.files, set);
  WarnAboutEmptyClasses(classes, set);
  set.sources.push_back(data.path);
  return set;
}

}  // namespace retort::storage
