#include "storage/data/picture_parts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "storage/data/readers.h"

namespace retort::storage {
namespace {

// Known since the first release, in the order in which their examples follow one another; others come behind.
constexpr std::array<std::string_view, 5> kPartNames = {"train", "val", "valid", "validation", "test"};
constexpr std::array<std::string_view, 3> kParts = {"train", "validation", "test"};
constexpr std::size_t kMostNamed = 10;

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
  static const std::set<std::string> kNames = {"pred",      "predict", "prediction", "predictions", "unlabeled", "unlabelled",
                                               "unlabeleddata", "docs", "doc",       "thumbs",      "thumbnails", "cache",
                                               "tmp",       "temp",    "backup",     "pycache",     "logs",      "output"};
  return !PartNamed(name).empty() || kNames.contains(Plain(name));
}

// "a, b, c, ..."
std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i > 0 ? ", " : "") + names[i];
  return text + (names.size() > kMostNamed ? ", ..." : "");
}

std::size_t PicturesBelow(const FileTree& tree, const std::string& prefix) {
  const auto files = tree.Below(prefix);
  return static_cast<std::size_t>(
      std::count_if(files.begin(), files.end(), [](const TreeFile* file) { return IsPictureName(file->name); }));
}

// Below "training_set/" the folder "training_set/training_set/", as some sets are packed.
std::string InnerFolder(const FileTree& tree, const std::string& part, std::string prefix) {
  while (true) {
    const std::vector<std::string> names = ClassFolders(tree, prefix);
    if (names.size() != 1 || PartNamed(names.front()) != part) return prefix;
    if (ClassFolders(tree, prefix + names.front() + "/").empty()) return prefix;
    prefix += names.front() + "/";
  }
}

class PartSearch {
 public:
  PartSearch(const FileTree& tree, const std::string& root)
      : tree_(tree), root_(root), names_(ClassFolders(tree, root)) {
    for (const std::string& name : names_)
      if (!ClassFolders(tree, root + name + "/").empty()) deep_.insert(name);
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  [[nodiscard]] bool Hold() const {
    if (!names_.empty() && std::all_of(names_.begin(), names_.end(), IsExact)) return true;
    std::set<std::string_view> parts;
    bool others = false;
    for (const std::string& name : deep_) {
      parts.insert(PartNamed(name));
      others = others || PartNamed(name).empty();
    }
    const bool two = parts.contains("validation") || parts.contains("test");
    return parts.contains("train") && (two || !others);
  }

  [[nodiscard]] std::vector<std::string> InOrder() const {
    std::vector<std::string> parts;
    for (const std::string& name : names_)
      if (!PartNamed(name).empty()) parts.push_back(name);
    const auto rank = [](const std::string& name) {
      const auto part = std::find(kParts.begin(), kParts.end(), PartNamed(name)) - kParts.begin();
      return std::pair(part, std::find(kPartNames.begin(), kPartNames.end(), name) - kPartNames.begin());
    };
    std::stable_sort(parts.begin(), parts.end(),
                     [&rank](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    return parts;
  }

  // Folders of several classes that hold folders of the same names.
  [[nodiscard]] std::vector<std::string> Alike() const {
    std::map<std::string, std::vector<std::string>> holders;
    for (const std::string& name : deep_)
      for (const std::string& inner : ClassFolders(tree_, root_ + name + "/")) holders[inner].push_back(name);
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
  std::set<std::string> deep_;  // those of them in which folders with pictures lie
};

void WarnOfOthers(const FileTree& tree, const std::string& root, const std::vector<std::string>& names,
                  const std::vector<std::string>& parts, ExampleSet& set) {
  std::vector<std::string> others;
  for (const std::string& name : names)
    if (std::find(parts.begin(), parts.end(), name) == parts.end())
      others.push_back(name + " (" + std::to_string(PicturesBelow(tree, root + name + "/")) + " pictures)");
  if (!others.empty())
    set.warnings.push_back("Beside the parts " + Listed(parts) + " lie " + Listed(others) +
                           ", which are no parts; they are left out.");
  for (const std::string_view part : kParts) {
    std::vector<std::string> same;
    for (const std::string& name : parts)
      if (PartNamed(name) == part) same.push_back(name);
    if (same.size() > 1)
      set.warnings.push_back("The folders " + Listed(same) + " are each taken for part \"" + std::string(part) +
                             "\"; a split that names it takes the first alone.");
  }
}

void WarnOfClasses(const PartSearch& search, ExampleSet& set) {
  std::vector<std::string> suspicious = search.Alike();
  for (const std::string& name : search.names())
    if (LooksLikeNoClass(name) && std::find(suspicious.begin(), suspicious.end(), name) == suspicious.end())
      suspicious.push_back(name);
  if (suspicious.empty() || search.names().size() < 2) return;
  set.warnings.push_back("Taken for classes: " + Listed(suspicious) + ", of " + std::to_string(search.names().size()) +
                         " (" + Listed(search.names()) +
                         "). What is none has to lie elsewhere; parts are called train, val and test.");
}

}  // namespace

std::string_view PartNamed(std::string_view folder) {
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

std::string RootOfPictures(const FileTree& tree) {
  std::string root;
  while (true) {
    const std::vector<std::string> names = ClassFolders(tree, root);
    if (names.size() != 1 || IsExact(names.front())) return root;
    const std::string below = root + names.front() + "/";
    if (ClassFolders(tree, below).empty()) return root;
    root = below;
  }
}

std::vector<PartFolder> FindParts(const FileTree& tree, const std::string& root, ExampleSet& set) {
  const PartSearch search(tree, root);
  if (!search.Hold()) {
    WarnOfClasses(search, set);
    return {{"", root}};
  }
  const std::vector<std::string> names = search.InOrder();
  WarnOfOthers(tree, root, search.names(), names, set);
  std::vector<PartFolder> parts;
  for (const std::string& name : names) {
    const std::string part(PartNamed(name));
    std::string prefix = root;
    prefix += name + "/";
    parts.push_back({part, InnerFolder(tree, part, std::move(prefix))});
  }
  return parts;
}

}  // namespace retort::storage
