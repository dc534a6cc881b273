#include <utility>

#include "storage/data/tree_kinds.h"

namespace retort::storage {
namespace {

using Trees = std::vector<std::pair<std::string, std::shared_ptr<const FileTree>>>;

class JoinedTree final : public FileTree {
 public:
  JoinedTree(const std::string& path, TreeIndex index, Trees trees)
      : FileTree(path, std::move(index)), trees_(std::move(trees)) {}

  std::string Where(const TreeFile& file) const override { return TreeOf(file).Where(Own(file)); }
  Result<std::string> Read(const TreeFile& file) const override { return TreeOf(file).Read(Own(file)); }
  Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const override {
    return TreeOf(file).Open(Own(file));
  }
  std::string Stamp() const override {
    std::string stamps;
    for (const auto& [prefix, tree] : trees_) {
      const std::string stamp = tree->Stamp();
      if (stamp.empty()) return "";
      stamps += prefix + "\n" + tree->path() + "\n" + stamp + "\n";
    }
    return stamps;
  }

 private:
  const FileTree& TreeOf(const TreeFile& file) const { return *trees_[file.tree].second; }
  TreeFile Own(const TreeFile& file) const {
    return {file.name.substr(trees_[file.tree].first.size()), file.size, file.offset, 0};
  }
  Trees trees_;
};

}  // namespace

Result<std::shared_ptr<const FileTree>> JoinTrees(const std::string& path, Trees trees) {
  TreeIndex index;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    for (const TreeFile& file : trees[i].second->files())
      index.files.push_back(
          {trees[i].first + file.name, file.size, file.offset, static_cast<std::uint32_t>(i)});
    for (const std::string& folder : trees[i].second->folders())
      index.folders.push_back(trees[i].first + folder);
  }
  RETORT_RETURN_IF_ERROR(CheckNames(path, index));
  return std::shared_ptr<const FileTree>(
      std::make_shared<JoinedTree>(path, std::move(index), std::move(trees)));
}

}  // namespace retort::storage
