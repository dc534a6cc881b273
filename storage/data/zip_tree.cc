#include <algorithm>
#include <utility>

#include "storage/data/tree_kinds.h"
#include "storage/input_files.h"
#include "storage/zip_file.h"

namespace retort::storage {
namespace {

// Some programs of Windows part the folders of every name by back slashes.
bool HasBackSlashes(const ZipFile& zip) {
  const auto& entries = zip.entries();
  const auto has = [&entries](char c) {
    return std::any_of(entries.begin(), entries.end(),
                       [c](const ZipEntry& entry) { return entry.name.find(c) != std::string::npos; });
  };
  return has('\\') && !has('/');
}

Result<TreeIndex> IndexZip(const std::string& path, const ZipFile& zip) {
  TreeIndex index;
  const bool back = HasBackSlashes(zip);
  for (std::size_t i = 0; i < zip.entries().size(); ++i) {
    const ZipEntry& entry = zip.entries()[i];
    std::string name = entry.name;
    if (back) std::replace(name.begin(), name.end(), '\\', '/');
    if (const std::string trouble = NameTrouble(name); !trouble.empty())
      return Refused(path + ": the name \"" + name + "\" " + trouble + "; an archive like this is not read");
    if (name.ends_with('/'))
      index.folders.push_back(CleanName(name));
    else
      index.files.push_back({CleanName(name), entry.bytes, i, 0});
  }
  RETORT_RETURN_IF_ERROR(CheckNames(path, index));
  return index;
}

class ZipTree final : public FileTree {
 public:
  ZipTree(const std::string& path, TreeIndex index, ZipFile zip, std::string stamp)
      : FileTree(path, std::move(index)), zip_(std::move(zip)), stamp_(std::move(stamp)) {}

  std::string Where(const TreeFile& file) const override {
    return path() + ": " + file.name + " at byte " + std::to_string(Entry(file).data);
  }
  Result<std::string> Read(const TreeFile& file) const override {
    return zip_.Read(Entry(file), kMostFileBytes);
  }
  Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const override {
    RETORT_ASSIGN_OR_RETURN(std::string bytes, Read(file));
    return FileInMemory(Where(file), std::move(bytes));
  }
  std::string Stamp() const override { return stamp_; }

 private:
  const ZipEntry& Entry(const TreeFile& file) const {
    return zip_.entries()[static_cast<std::size_t>(file.offset)];
  }
  ZipFile zip_;
  std::string stamp_;
};

}  // namespace

Result<std::shared_ptr<const FileTree>> OpenZipTree(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(auto file, env.OpenInput(path));
  RETORT_ASSIGN_OR_RETURN(ZipFile zip, ZipFile::Open(std::move(file), path));
  RETORT_ASSIGN_OR_RETURN(TreeIndex index, IndexZip(path, zip));
  RETORT_ASSIGN_OR_RETURN(const std::string stamp, StampText(env, path));
  return std::shared_ptr<const FileTree>(
      std::make_shared<ZipTree>(path, std::move(index), std::move(zip), stamp));
}

}  // namespace retort::storage
