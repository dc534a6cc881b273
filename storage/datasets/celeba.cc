// CelebA, aligned and cropped: list_attr_celeba.txt (a count, the attributes' names, then FILE and -1 or 1
// for each), list_eval_partition.txt (FILE and 0, 1 or 2), and the images in img_align_celeba, a folder or
// .zip.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "experiments/base/number_text.h"
#include "storage/datasets/readers.h"

namespace retort::storage {
namespace {

constexpr std::array<std::string_view, 3> kHair = {"Black_Hair", "Blond_Hair", "Brown_Hair"};
constexpr std::array<std::string_view, 1> kGender = {"Male"};

struct Lists {
  std::string attributes_at, partition_at;         // for messages
  std::vector<std::string> attributes, partition;  // lines
};

Result<std::vector<std::string>> FindList(const DataSpec& data, const FileTree& tree, const std::string& name,
                                          std::string& where) {
  const std::optional<std::string> folder = FindFolderWith(tree, name);
  if (!folder) return MissingFile(data, tree.path() + "/" + name, "it comes with the set, in its folder Anno or Eval");
  const TreeFile* file = tree.Find(*folder + name);
  where = tree.Where(*file);
  return ReadLines(tree, *file);
}

// Of the wanted attributes: their positions behind the file's name.
Result<std::vector<std::size_t>> Columns(const Lists& lists, std::span<const std::string_view> wanted) {
  if (lists.attributes.size() < 2) return LineError(lists.attributes_at, 1, "expected a count, then the names");
  const std::vector<std::string_view> names = SplitWords(lists.attributes[1]);
  std::vector<std::size_t> columns;
  for (const std::string_view name : wanted) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return LineError(lists.attributes_at, 2, "the attribute \"" + std::string(name) + "\" is not among the names");
    columns.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  return columns;
}

// The class, or -1 where none or several of the attributes hold.
Result<std::int64_t> ReadClass(const Lists& lists, std::size_t line, const std::vector<std::string_view>& words,
                               const std::vector<std::size_t>& columns) {
  std::int64_t held = 0, last = -1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t at = columns[i] + 1;
    if (at >= words.size() || (words[at] != "1" && words[at] != "-1"))
      return LineError(lists.attributes_at, line, "expected FILE and -1 or 1 for each attribute");
    if (words[at] != "1") continue;
    ++held;
    last = static_cast<std::int64_t>(i);
  }
  if (columns.size() == 1) return held;  // gender: male or not
  return held == 1 ? last : -1;
}

struct LabelledFile {
  std::string name;
  std::int64_t label, part;  // label -1: none
};

Result<std::map<std::string, std::int64_t>> ReadParts(const Lists& lists) {
  std::map<std::string, std::int64_t> parts;
  for (std::size_t i = 0; i < lists.partition.size(); ++i) {
    const std::vector<std::string_view> words = SplitWords(lists.partition[i]);
    if (words.empty()) continue;
    const auto part = words.size() == 2 ? ParseWholeNumber(words[1]) : std::nullopt;
    if (!part || *part > 2) return LineError(lists.partition_at, i + 1, "expected FILE and 0, 1 or 2");
    parts[std::string(words[0])] = *part;
  }
  return parts;
}

Result<std::vector<LabelledFile>> Join(const Lists& lists, std::span<const std::string_view> wanted,
                                       std::size_t& left_out) {
  RETORT_ASSIGN_OR_RETURN(const auto columns, Columns(lists, wanted));
  RETORT_ASSIGN_OR_RETURN(const auto parts, ReadParts(lists));
  std::vector<LabelledFile> labelled;
  std::int64_t rows = 0;
  for (std::size_t i = 2; i < lists.attributes.size(); ++i) {
    const std::vector<std::string_view> words = SplitWords(lists.attributes[i]);
    if (words.empty()) continue;
    ++rows;
    RETORT_ASSIGN_OR_RETURN(const std::int64_t label, ReadClass(lists, i + 1, words, columns));
    const auto part = parts.find(std::string(words[0]));
    if (part == parts.end())
      return LineError(lists.attributes_at, i + 1,
                       "\"" + std::string(words[0]) + "\" has no line in " + lists.partition_at);
    left_out += label < 0 ? 1 : 0;
    labelled.push_back({part->first, label, part->second});
  }
  const auto said = ParseWholeNumber(SplitWords(lists.attributes[0]).empty() ? "" : SplitWords(lists.attributes[0])[0]);
  if (!said || *said != rows)
    return LineError(lists.attributes_at, 1,
                     "says \"" + lists.attributes[0] + "\" pictures, and " + std::to_string(rows) + " lines follow");
  return labelled;
}

// Where the images lie, and the folder in there.
Result<std::string> OpenImages(Env& env, const DataSpec& data, const std::shared_ptr<const FileTree>& tree,
                               ExampleSet& set) {
  set.files = tree;
  for (const TreeFile& file : tree->files()) {
    const std::size_t at = file.name.rfind("img_align_celeba/");
    if (at != std::string::npos && IsImageName(file.name)) return file.name.substr(0, file.name.rfind('/') + 1);
  }
  const std::optional<std::string> folder = FindFolderWith(*tree, "img_align_celeba.zip");
  if (!folder)
    return MissingFile(data, data.path + "/img_align_celeba", "expected the folder, or img_align_celeba.zip");
  RETORT_ASSIGN_OR_RETURN(const auto zip, OpenFileTree(env, data.path + "/" + *folder + "img_align_celeba.zip"));
  RETORT_ASSIGN_OR_RETURN(set.files, JoinTrees(data.path, {{"lists/", tree}, {"", zip}}));
  for (const TreeFile& file : zip->files())
    if (IsImageName(file.name)) return file.name.substr(0, file.name.rfind('/') + 1);
  return MissingFile(data, zip->path() + ": img_align_celeba/000001.jpg", "the archive holds no picture");
}

Status AddImages(const DataSpec& data, const std::vector<LabelledFile>& labelled, const std::string& folder,
                 ExampleSet& set) {
  constexpr const char* kParts[] = {"train", "validation", "test"};
  for (std::int64_t part = 0; part < 3; ++part) {
    for (const LabelledFile& image : labelled) {
      if (image.part != part) continue;
      const TreeFile* file = set.files->Find(folder + image.name);
      if (file == nullptr)
        return MissingFile(data, set.files->path() + "/" + folder + image.name, "list_attr_celeba.txt names it");
      if (image.label < 0) {
        set.left_out.push_back(*file);
        continue;
      }
      set.pictures.push_back(*file);
      set.labels.push_back(image.label);
    }
    EndPart(set, kParts[part]);
  }
  return {};
}

}  // namespace

Result<ExampleSet> ReadCelebA(Env& env, const DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(const auto tree, OpenFileTree(env, data.path));
  Lists lists;
  RETORT_ASSIGN_OR_RETURN(lists.attributes, FindList(data, *tree, "list_attr_celeba.txt", lists.attributes_at));
  RETORT_ASSIGN_OR_RETURN(lists.partition, FindList(data, *tree, "list_eval_partition.txt", lists.partition_at));
  const bool hair = data.target == "hair";
  std::size_t left_out = 0;
  const std::span<const std::string_view> wanted = hair ? std::span<const std::string_view>(kHair) : kGender;
  RETORT_ASSIGN_OR_RETURN(const std::vector<LabelledFile> labelled, Join(lists, wanted, left_out));
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(const std::string folder, OpenImages(env, data, tree, set));
  RETORT_RETURN_IF_ERROR(AddImages(data, labelled, folder, set));
  set.class_names =
      hair ? std::vector<std::string>{"black", "blond", "brown"} : std::vector<std::string>{"female", "male"};
  set.classes = hair ? 3 : 2;
  if (left_out > 0)
    set.findings.push_back(std::to_string(left_out) +
                           " pictures are left out: none, or several, of black, blond and brown hair.");
  const std::size_t all = labelled.size();
  if (all != 202599)
    set.findings.push_back("The lists name " + std::to_string(all) + " pictures; the published set has 202599.");
  set.sources = {lists.attributes_at, lists.partition_at, set.files->path()};
  return set;
}

}  // namespace retort::storage
