// WebDataset: tar archives in which NAME.png or NAME.jpg stands beside NAME.cls, the number of its class.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "experiments/base/number_text.h"
#include "storage/datasets/readers.h"

namespace retort::storage {
namespace {

constexpr std::int64_t kMaxLabel = 65535;
constexpr std::string_view kClassEnding = ".cls";

// The archives at `path`, or the files of one, or of folders unpacked from them. Names begin with their archive's.
Result<std::shared_ptr<const FileTree>> OpenShards(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const FileStamp stamp, env.Stamp(path));
  if (!stamp.folder) return OpenFileTree(env, path);
  RETORT_ASSIGN_OR_RETURN(std::vector<std::string> names, env.List(path));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".tar") || name.starts_with('.'); });
  if (names.empty()) return OpenFolderTree(env, path);
  std::sort(names.begin(), names.end());
  std::vector<std::pair<std::string, std::shared_ptr<const FileTree>>> shards;
  for (const std::string& name : names) {
    RETORT_ASSIGN_OR_RETURN(std::shared_ptr<const FileTree> shard, OpenFileTree(env, path + "/" + name));
    shards.emplace_back(name.substr(0, name.size() - 3), std::move(shard));
    shards.back().first.back() = '/';
  }
  return JoinTrees(path, std::move(shards));
}

// What an image and its class have in common: the name up to the first dot behind the last slash.
std::string_view FindKey(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return name.substr(0, name.find('.', slash == std::string_view::npos ? 0 : slash));
}

Result<std::int64_t> ReadClass(const FileTree& tree, const TreeFile& file) {
  constexpr std::uint64_t kMaxClassBytes = 64;
  const auto wrong = [&] {
    return DamageError(tree.Where(file) + ": expected the number of a class, from 0 to " + std::to_string(kMaxLabel));
  };
  if (file.size > kMaxClassBytes) return wrong();
  RETORT_ASSIGN_OR_RETURN(const std::string text, tree.Read(file));
  std::string_view digits = text;
  while (!digits.empty() && digits.back() == '\n') digits.remove_suffix(1);
  const auto number = ParseWholeNumber(TrimText(digits));
  return number && *number <= kMaxLabel ? Result<std::int64_t>(*number) : Result<std::int64_t>(wrong());
}

}  // namespace

Result<ExampleSet> ReadWebDataset(Env& env, const DataSpec& data) {
  ExampleSet set;
  RETORT_ASSIGN_OR_RETURN(set.files, OpenShards(env, data.path));
  const FileTree& tree = *set.files;
  std::map<std::string_view, const TreeFile*> classes;
  for (const TreeFile& file : tree.files())
    if (file.name.ends_with(kClassEnding) && !classes.emplace(FindKey(file.name), &file).second)
      return DamageError(tree.Where(file) + ": a second class of one picture, beside that of " +
                         classes.at(FindKey(file.name))->name);
  std::set<std::string_view> shown;
  for (const TreeFile& file : tree.files()) {
    if (!IsImageName(file.name)) continue;
    const std::string_view key = FindKey(file.name);
    const auto found = classes.find(key);
    if (found == classes.end())
      return DamageError(tree.Where(file) + ": no " + std::string(key) + ".cls beside it says its class");
    if (!shown.insert(key).second) return DamageError(tree.Where(file) + ": a second picture of one class file");
    RETORT_ASSIGN_OR_RETURN(const std::int64_t label, ReadClass(tree, *found->second));
    set.labels.push_back(label);
    set.pictures.push_back(file);
  }
  if (set.labels.empty())
    return MissingFile(data, data.path + "/*.tar", "expected archives of NAME.png or NAME.jpg with NAME.cls");
  for (const auto& [key, file] : classes)
    if (!shown.contains(key)) return DamageError(tree.Where(*file) + ": a class of no picture");
  set.classes = *std::max_element(set.labels.begin(), set.labels.end()) + 1;
  WarnAboutUnreadImages(tree, set);
  set.sources.push_back(data.path);
  return set;
}

}  // namespace retort::storage
