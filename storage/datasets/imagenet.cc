// ILSVRC2012: train/WNID/*.JPEG or ILSVRC2012_img_train.tar (an archive of archives); val/WNID/*.JPEG, or
// flat with a file that names the classes, or ILSVRC2012_img_val.tar; or folders of classes alone.
#include <algorithm>
#include <map>
#include <utility>

#include "experiments/base/number_text.h"
#include "storage/datasets/readers.h"
#include "storage/formats/mat_file.h"

namespace retort::storage {
namespace {

constexpr std::int64_t kValidation = 50000, kTraining = 1281167;
constexpr const char* kTruth = "ILSVRC2012_validation_ground_truth.txt";

// "ILSVRC2012_val_00000123.JPEG" of 123.
std::string ValidationName(std::size_t number) {
  std::string digits = std::to_string(number);
  return "ILSVRC2012_val_" + std::string(8 - std::min<std::size_t>(8, digits.size()), '0') + digits + ".JPEG";
}

// The folder `path` with the archives in it read in place; or what OpenFileTree gives.
Result<std::shared_ptr<const FileTree>> OpenTree(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const auto tree, OpenFileTree(env, path));
  std::vector<std::pair<std::string, std::shared_ptr<const FileTree>>> trees = {{"", tree}};
  constexpr std::pair<const char*, const char*> kArchives[] = {{"ILSVRC2012_img_train.tar", "train/"},
                                                               {"ILSVRC2012_img_val.tar", "val/"},
                                                               {"ILSVRC2012_devkit_t12.tar.gz", "devkit/"}};
  for (const auto& [name, prefix] : kArchives) {
    const auto folder = FindFolderWith(*tree, name);
    if (!folder) continue;
    RETORT_ASSIGN_OR_RETURN(auto archive, OpenFileTree(env, tree->Where(*tree->Find(*folder + name))));
    trees.emplace_back(prefix, std::move(archive));
  }
  return trees.size() == 1 ? Result<std::shared_ptr<const FileTree>>(tree) : JoinTrees(path, std::move(trees));
}

// WNID of the low ids (1 to 1000) in the devkit's meta.mat.
Result<std::map<std::int64_t, std::string>> ReadMeta(const FileTree& tree, const TreeFile& file) {
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, tree.Read(file));
  RETORT_ASSIGN_OR_RETURN(const std::vector<MatArray> arrays, ParseMat(tree.Where(file), bytes));
  for (const MatArray& array : arrays) {
    if (array.name != "synsets" || array.kind != MatKind::structure) continue;
    const auto column = [&array](const char* name) {
      return static_cast<std::size_t>(std::find(array.fields.begin(), array.fields.end(), name) - array.fields.begin());
    };
    const std::size_t id = column("ILSVRC2012_ID"), wnid = column("WNID"), width = array.fields.size();
    if (id == width || wnid == width) break;
    std::map<std::int64_t, std::string> wnids;
    for (std::size_t i = 0; i + width <= array.items.size(); i += width)
      wnids[static_cast<std::int64_t>(array.items[i + id].Number(0))] = array.items[i + wnid].bytes;
    return wnids;
  }
  return DamageError(tree.Where(file) + ": has no structure \"synsets\" with ILSVRC2012_ID and WNID");
}

using Truth = std::map<std::string, std::string>;  // WNID by name of the image

Result<Truth> DevkitTruth(const DataSpec& data, const FileTree& tree, const TreeFile& list) {
  const auto folder = FindFolderWith(tree, "meta.mat");
  if (!folder)
    return MissingFile(data, tree.path() + "/meta.mat", std::string(kTruth) + " numbers the classes as it does");
  RETORT_ASSIGN_OR_RETURN(const auto wnids, ReadMeta(tree, *tree.Find(*folder + "meta.mat")));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(tree, list));
  Truth truth;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string_view> words = SplitWords(lines[i]);
    if (words.empty()) continue;
    const auto found = wnids.find(ParseWholeNumber(words[0]).value_or(-1));
    if (found == wnids.end()) return LineError(tree.Where(list), i + 1, "\"" + lines[i] + "\" is no id of meta.mat");
    truth[ValidationName(i + 1)] = found->second;
  }
  return truth;
}

// "ILSVRC2012_val_00000001,n02487347 ..." (LOC_val_solution.csv), "FILE WNID", or a WNID a line in the
// images' order.
Result<Truth> ListedTruth(const FileTree& tree, const TreeFile& list) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(tree, list));
  Truth truth;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line = lines[i];
    std::replace(line.begin(), line.end(), ',', ' ');
    const std::vector<std::string_view> words = SplitWords(line);
    if (words.empty() || words[0] == "ImageId") continue;
    if (words.size() == 1 && IsWnid(words[0])) {
      truth[ValidationName(truth.size() + 1)] = words[0];
    } else if (words.size() >= 2 && IsWnid(words[1])) {
      truth[std::string(words[0]) + (IsImageName(words[0]) ? "" : ".JPEG")] = words[1];
    } else {
      return LineError(tree.Where(list), i + 1, "expected a picture and its WNID, found \"" + lines[i] + "\"");
    }
  }
  return truth;
}

Result<Truth> FindTruth(const DataSpec& data, const FileTree& tree) {
  for (const char* name : {"LOC_val_solution.csv", "imagenet_2012_validation_synset_labels.txt", "val_map.txt"})
    if (const auto folder = FindFolderWith(tree, name)) return ListedTruth(tree, *tree.Find(*folder + name));
  if (const auto folder = FindFolderWith(tree, kTruth)) return DevkitTruth(data, tree, *tree.Find(*folder + kTruth));
  return MissingFile(data, tree.path() + "/" + kTruth,
                     "flat validation pictures need it with meta.mat (both are in ILSVRC2012_devkit_t12.tar.gz), or "
                     "LOC_val_solution.csv, or val_map.txt (PICTURE WNID a line), or a folder for each class");
}

Status AddFlat(const DataSpec& data, const std::string& prefix, const std::map<std::string, std::int64_t>& classes,
               ExampleSet& set) {
  const FileTree& tree = *set.files;
  RETORT_ASSIGN_OR_RETURN(const Truth truth, FindTruth(data, tree));
  for (const TreeFile* file : tree.Below(prefix)) {
    if (!IsImageName(file->name)) continue;
    const auto wnid = truth.find(file->name.substr(prefix.size()));
    if (wnid == truth.end()) return DamageError(tree.Where(*file) + ": no class is given for this picture");
    const auto number = classes.find(wnid->second);
    if (number == classes.end())
      return DamageError(tree.Where(*file) + ": its class " + wnid->second + " has no folder in train");
    set.pictures.push_back(*file);
    set.labels.push_back(number->second);
  }
  return {};
}

void CheckValidation(const std::string& prefix, ExampleSet& set) {
  const DataPart& part = set.parts.back();
  if (part.size() == kValidation) return;
  std::string missing;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(kValidation) && missing.empty(); ++i)
    if (set.files->Find(prefix + ValidationName(i)) == nullptr) missing = ValidationName(i);
  const bool named =
      set.pictures[static_cast<std::size_t>(part.begin)].name.find("ILSVRC2012_val_") != std::string::npos;
  const bool flat =
      set.pictures[static_cast<std::size_t>(part.begin)].name.find('/', prefix.size()) == std::string::npos;
  set.findings.push_back("Validation has " + std::to_string(part.size()) + " pictures; the published set has 50000" +
                         (named && flat && !missing.empty() ? ": the first missing is " + missing + "." : "."));
}

Status AddValidation(const DataSpec& data, const std::string& root,
                     const std::vector<std::pair<std::string, std::int64_t>>& classes, ExampleSet& set) {
  const std::string prefix = root + "val/";
  if (!ListClassFolders(*set.files, prefix).empty())
    RETORT_RETURN_IF_ERROR(AddClassFolders(*set.files, prefix, classes, set));
  else if (!set.files->Below(prefix).empty())
    RETORT_RETURN_IF_ERROR(AddFlat(data, prefix, {classes.begin(), classes.end()}, set));
  const std::size_t before = set.parts.size();
  EndPart(set, "validation");
  if (set.parts.size() > before)
    CheckValidation(prefix, set);
  else
    set.findings.push_back("There is no validation part: no pictures in " + set.files->path() + "/" + prefix + ".");
  return {};
}

// Where train/ lies, as in ILSVRC/Data/CLS-LOC/train.
std::string FindTrainRoot(const FileTree& tree) {
  for (const TreeFile& file : tree.files()) {
    const std::size_t at = file.name.starts_with("train/") ? 0 : file.name.find("/train/");
    if (at == std::string::npos || !IsImageName(file.name)) continue;
    const std::size_t begin = at == 0 ? 0 : at + 1;
    if (IsWnid(std::string_view(file.name).substr(begin + 6, 9))) return file.name.substr(0, begin);
  }
  return "";
}

}  // namespace

Result<ExampleSet> ReadImageNet(Env& env, const DataSpec& data) {
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(set.files, OpenTree(env, data.path));
  const FileTree& tree = *set.files;
  const std::string root = FindTrainRoot(tree);
  set.sources.push_back(data.path);
  if (!ListClassFolders(tree, root + "train/").empty()) {
    RETORT_ASSIGN_OR_RETURN(const auto classes, NumberClasses(tree, root, {root + "train/"}, set, &IsWnid));
    RETORT_RETURN_IF_ERROR(AddClassFolders(tree, root + "train/", classes, set));
    EndPart(set, "train");
    if (set.parts.back().size() != kTraining)
      set.findings.push_back("Training has " + std::to_string(set.parts.back().size()) + " pictures of " +
                             std::to_string(classes.size()) + " classes; the published set has 1281167 of 1000.");
    RETORT_RETURN_IF_ERROR(AddValidation(data, root, classes, set));
    WarnAboutUnreadImages(tree, set);
    WarnAboutEmptyClasses(classes, set);
    return set;
  }
  std::vector<std::string> folders = ListClassFolders(tree, "");
  const bool wnids = !folders.empty() && std::all_of(folders.begin(), folders.end(), IsWnid);
  if (!wnids)
    return MissingFile(data, data.path + "/train/n01440764",
                       "expected train and val, ILSVRC2012_img_train.tar and "
                       "ILSVRC2012_img_val.tar, or folders named by WNIDs");
  RETORT_ASSIGN_OR_RETURN(const auto classes, NumberClasses(tree, "", {""}, set, &IsWnid));
  RETORT_RETURN_IF_ERROR(AddClassFolders(tree, "", classes, set));
  WarnAboutUnreadImages(tree, set);
  WarnAboutEmptyClasses(classes, set);
  set.findings.push_back("There are no folders train and val: " + std::to_string(set.labels.size()) + " pictures of " +
                         std::to_string(folders.size()) + " classes, as they lie.");
  return set;
}

// Tiny ImageNet 200: train/WNID/images/*.JPEG, and val/images with val/val_annotations.txt ("FILE\tWNID\t..."
// a line).
namespace {

Status AddListedValidation(const DataSpec& data, const std::string& root,
                           const std::vector<std::pair<std::string, std::int64_t>>& classes, ExampleSet& set) {
  const FileTree& tree = *set.files;
  const TreeFile* list = tree.Find(root + "val/val_annotations.txt");
  if (list == nullptr)
    return MissingFile(data, tree.path() + "/" + root + "val/val_annotations.txt",
                       "it names the class of each validation picture");
  const std::map<std::string, std::int64_t> numbers(classes.begin(), classes.end());
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(tree, *list));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string_view> words = SplitWords(lines[i]);
    if (words.empty()) continue;
    if (words.size() < 2) return LineError(tree.Where(*list), i + 1, "expected FILE and WNID");
    const auto number = numbers.find(std::string(words[1]));
    if (number == numbers.end())
      return LineError(tree.Where(*list), i + 1, "\"" + std::string(words[1]) + "\" is no folder in train");
    const std::string name = root + "val/images/" + std::string(words[0]);
    const TreeFile* image = tree.Find(name);
    if (image == nullptr)
      return MissingFile(data, tree.path() + "/" + name,
                         "line " + std::to_string(i + 1) + " of " + tree.Where(*list) + " names it");
    set.pictures.push_back(*image);
    set.labels.push_back(number->second);
  }
  return {};
}

}  // namespace

Result<ExampleSet> ReadTinyImageNet(Env& env, const DataSpec& data) {
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(set.files, OpenFileTree(env, data.path));
  const FileTree& tree = *set.files;
  std::optional<std::string> root = FindFolderWith(tree, "wnids.txt");
  if (!root) root = FindFolderWith(tree, "val/val_annotations.txt");
  if (!root)
    return MissingFile(data, data.path + "/wnids.txt", "expected tiny-imagenet-200, as a folder or as its .zip");
  if (ListClassFolders(tree, *root + "train/").empty())
    return MissingFile(data, data.path + "/" + *root + "train/WNID/images/*.JPEG", "expected a folder for each class");
  RETORT_ASSIGN_OR_RETURN(const auto classes, NumberClasses(tree, *root, {*root + "train/"}, set, &IsWnid));
  RETORT_RETURN_IF_ERROR(AddClassFolders(tree, *root + "train/", classes, set));
  EndPart(set, "train");
  RETORT_RETURN_IF_ERROR(AddListedValidation(data, *root, classes, set));
  EndPart(set, "validation");
  WarnAboutUnreadImages(tree, set);
  WarnAboutEmptyClasses(classes, set);
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
