#include <algorithm>
#include <utility>

#include "experiments/spec/sha256.h"
#include "storage/data/tree_kinds.h"
#include "storage/input_files.h"

namespace retort::storage {
namespace {

constexpr int kDeepest = 16;

struct Walk {
  Env& env;
  const std::string& path;
  TreeIndex index;
  std::vector<std::string> stamps;  // "NAME\nSIZE TIMES INODE", in the order of the walk
  bool telling = true;

  Status Folder(const std::string& prefix, int depth) {
    if (depth > kDeepest)
      return Refused(path + "/" + prefix + " lies more than 16 folders deep; a link may lead in a circle");
    RETORT_ASSIGN_OR_RETURN(const auto names, env.List(prefix.empty() ? path : path + "/" + prefix));
    for (const std::string& name : names) {
      if (name.empty() || IsHiddenPart(name)) continue;
      RETORT_RETURN_IF_ERROR(Entry(prefix.empty() ? name : prefix + "/" + name, depth));
    }
    return {};
  }

  Status Entry(const std::string& name, int depth) {
    RETORT_ASSIGN_OR_RETURN(const FileStamp stamp, env.Stamp(path + "/" + name));
    if (index.files.size() + index.folders.size() >= kMostFiles)
      return Refused(path + " holds more than 20 million files");
    if (stamp.folder) {
      index.folders.push_back(name);
      return Folder(name, depth + 1);
    }
    telling = telling && stamp.telling;
    index.files.push_back({name, stamp.size, 0, 0});
    stamps.push_back(name + "\n" + StampText(stamp));
    return {};
  }
};

class FolderTree final : public FileTree {
 public:
  FolderTree(Env& env, const std::string& path, TreeIndex index, std::string stamp)
      : FileTree(path, std::move(index)), env_(env), stamp_(std::move(stamp)) {}

  std::string Where(const TreeFile& file) const override { return path() + "/" + file.name; }
  Result<std::string> Read(const TreeFile& file) const override {
    RETORT_ASSIGN_OR_RETURN(const auto opened, Open(file));
    if (opened->size() > kMostFileBytes) return Refused(Where(file) + " is larger than 4 GiB");
    return ReadBytes(*opened, 0, opened->size());
  }
  Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const override {
    return env_.OpenInput(Where(file));
  }
  std::string Stamp() const override { return stamp_; }

 private:
  Env& env_;
  std::string stamp_;
};

}  // namespace

Result<std::shared_ptr<const FileTree>> OpenFolderTree(Env& env, const std::string& path) {
  Walk walk{env, path, {}, {}};
  RETORT_RETURN_IF_ERROR(walk.Folder("", 0));
  std::sort(walk.stamps.begin(), walk.stamps.end());
  Sha256 digest;
  for (const std::string& stamp : walk.stamps) {
    digest.UpdateLength(stamp.size());
    digest.Update(stamp);
  }
  const std::string stamp = walk.telling ? digest.FinishHex() : "";
  return std::shared_ptr<const FileTree>(
      std::make_shared<FolderTree>(env, path, std::move(walk.index), stamp));
}

}  // namespace retort::storage
