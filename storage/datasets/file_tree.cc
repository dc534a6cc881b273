#include "storage/datasets/file_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "experiments/base/digests.h"
#include "storage/files/env.h"
#include "storage/files/read_limits.h"
#include "storage/formats/deflate.h"
#include "storage/formats/tar_archive.h"
#include "storage/formats/zip_archive.h"

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
    if (index.files.size() + index.folders.size() >= kMaxFiles)
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
    if (opened->size() > kMaxTreeFileBytes) return Refused(Where(file) + " is larger than 4 GiB");
    return ReadBytes(*opened, 0, opened->size());
  }
  Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const override { return env_.OpenInput(Where(file)); }
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
  return std::shared_ptr<const FileTree>(std::make_shared<FolderTree>(env, path, std::move(walk.index), stamp));
}

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
    if (const std::string trouble = FindNameProblem(name); !trouble.empty())
      return Refused(path + ": the name \"" + name + "\" " + trouble + "; an archive like this is not read");
    if (name.ends_with('/'))
      index.folders.push_back(NormalizeName(name));
    else
      index.files.push_back({NormalizeName(name), entry.bytes, i, 0});
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
  Result<std::string> Read(const TreeFile& file) const override { return zip_.Read(Entry(file), kMaxTreeFileBytes); }
  Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const override {
    RETORT_ASSIGN_OR_RETURN(std::string bytes, Read(file));
    return MakeMemoryFile(Where(file), std::move(bytes));
  }
  std::string Stamp() const override { return stamp_; }

 private:
  const ZipEntry& Entry(const TreeFile& file) const { return zip_.entries()[static_cast<std::size_t>(file.offset)]; }
  ZipFile zip_;
  std::string stamp_;
};

}  // namespace

Result<std::shared_ptr<const FileTree>> OpenZipTree(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(auto file, env.OpenInput(path));
  RETORT_ASSIGN_OR_RETURN(ZipFile zip, ZipFile::Open(std::move(file), path));
  RETORT_ASSIGN_OR_RETURN(TreeIndex index, IndexZip(path, zip));
  RETORT_ASSIGN_OR_RETURN(const std::string stamp, StampText(env, path));
  return std::shared_ptr<const FileTree>(std::make_shared<ZipTree>(path, std::move(index), std::move(zip), stamp));
}

namespace {

using Trees = std::vector<std::pair<std::string, std::shared_ptr<const FileTree>>>;

class JoinedTree final : public FileTree {
 public:
  JoinedTree(const std::string& path, TreeIndex index, Trees trees)
      : FileTree(path, std::move(index)), trees_(std::move(trees)) {}

  std::string Where(const TreeFile& file) const override { return FindTree(file).Where(Own(file)); }
  Result<std::string> Read(const TreeFile& file) const override { return FindTree(file).Read(Own(file)); }
  Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const override {
    return FindTree(file).Open(Own(file));
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
  const FileTree& FindTree(const TreeFile& file) const { return *trees_[file.tree].second; }
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
      index.files.push_back({trees[i].first + file.name, file.size, file.offset, static_cast<std::uint32_t>(i)});
    for (const std::string& folder : trees[i].second->folders()) index.folders.push_back(trees[i].first + folder);
  }
  RETORT_RETURN_IF_ERROR(CheckNames(path, index));
  return std::shared_ptr<const FileTree>(std::make_shared<JoinedTree>(path, std::move(index), std::move(trees)));
}

namespace {

constexpr std::uint64_t kMaxHeaderText = 1 << 20;  // of a long name or a pax header

class TarScan {
 public:
  TarScan(const std::string& path, const InputFile& file, std::uint64_t base, std::uint64_t size,
          const std::string& prefix)
      : path_(path), file_(file), begin_(base), at_(base), end_(base + size), prefix_(prefix) {}

  Result<TreeIndex> Run() {
    if (end_ - begin_ < kTarBlock) return Damaged("is no tar archive: shorter than a header of 512 bytes");
    while (end_ - at_ >= kTarBlock) {
      RETORT_ASSIGN_OR_RETURN(const std::string header, ReadBytes(file_, at_, kTarBlock));
      if (header.find_first_not_of('\0') == std::string::npos) return Finish();
      RETORT_RETURN_IF_ERROR(Member(header));
    }
    if (at_ != end_) return Damaged("truncated inside a header");
    return Finish();  // without the two empty blocks, which some writers leave out
  }

 private:
  Status Damaged(const std::string& what) const {
    return DamageError(path_ + ": at byte " + std::to_string(at_) + ": " + what +
                       (at_ == begin_ ? "" : "; fetch the archive again"));
  }
  Status NotWanted(const std::string& name, const std::string& why) const {
    return Refused(path_ + ": at byte " + std::to_string(at_) + ": the name \"" + name + "\" " + why +
                   "; an archive like this is not read");
  }

  Result<TreeIndex> Finish() {
    RETORT_RETURN_IF_ERROR(CheckNames(path_, index_));
    return std::move(index_);
  }

  Status CheckSum(const std::string& header) const {
    if (TarChecksumFits(header)) return {};
    return at_ == begin_ ? Damaged("is no tar archive (folder, .tar, .tar.gz or .zip are read)")
                         : Damaged("the checksum of a header does not hold");
  }

  Status Member(const std::string& header) {
    RETORT_RETURN_IF_ERROR(CheckSum(header));
    const std::string_view bytes = header;
    const Result<std::uint64_t> stored = ParseTarNumber(bytes.substr(124, 12));
    if (!stored.ok()) return Damaged("its size " + stored.status().message());
    std::uint64_t size = *stored;
    const char type = header[156];
    const bool described = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    if (!described && pax_size_ > 0) size = pax_size_;
    const std::uint64_t data = at_ + kTarBlock;
    if (size > end_ - data)
      return Damaged("a member of " + std::to_string(size) + " bytes, and " + std::to_string(end_ - data) +
                     " are left: truncated");
    if (described) {
      RETORT_RETURN_IF_ERROR(Description(type, data, size));
    } else {
      RETORT_RETURN_IF_ERROR(Keep(bytes, type, data, size));
      long_name_.clear();
      pax_size_ = 0;
    }
    const std::uint64_t padded = size % kTarBlock == 0 ? size : size + (kTarBlock - size % kTarBlock);
    at_ = padded > end_ - data ? end_ : data + padded;
    return {};
  }

  Status Keep(std::string_view header, char type, std::uint64_t data, std::uint64_t size) {
    std::string name = long_name_;
    if (name.empty()) {
      name = ReadTarText(header.substr(0, 100));
      const std::string_view folder = header.substr(257, 5) == "ustar" ? ReadTarText(header.substr(345, 155)) : "";
      if (!folder.empty() && header[263] != ' ') name = std::string(folder) + "/" + name;
    }
    if (const std::string trouble = FindNameProblem(name); !trouble.empty()) return NotWanted(name, trouble);
    if (type == '1' || type == '2') return NotWanted(name, "is a link");
    if (type == '3' || type == '4' || type == '6') return NotWanted(name, "is a device or a pipe");
    if (type == 'S') return NotWanted(name, "is a sparse file");
    const bool folder = type == '5' || name.back() == '/';
    if (!folder && type != '0' && type != '\0' && type != '7') return {};  // what describes the archive
    if (index_.files.size() + index_.folders.size() >= kMaxFiles)
      return Refused(path_ + " holds more than 20 million files");
    std::string clean = NormalizeName(name);
    if (clean.empty()) return {};
    if (folder)
      index_.folders.push_back(prefix_ + clean);
    else
      index_.files.push_back({prefix_ + clean, size, data, 0});
    return {};
  }

  Status Description(char type, std::uint64_t data, std::uint64_t size) {
    if (size > kMaxHeaderText) return Damaged("a name or header of " + std::to_string(size) + " bytes");
    RETORT_ASSIGN_OR_RETURN(const std::string text, ReadBytes(file_, data, size));
    if (type == 'L') long_name_ = ReadTarText(text);
    return type == 'x' ? Pax(text) : Status();
  }

  // "LENGTH KEY=VALUE\n", one after the other.
  Status Pax(std::string_view text) {
    while (!text.empty()) {
      std::size_t length = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<std::size_t>(end - text.data());
      if (error != std::errc() || length > text.size() || length < digits + 3) return Damaged("a broken pax header");
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos) return Damaged("a broken pax header");
      const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key == "path") long_name_ = value;
      if (key.starts_with("GNU.sparse")) return NotWanted(long_name_, "is a sparse file");
      if (key == "size") {
        const auto [tail, bad] = std::from_chars(value.data(), value.data() + value.size(), pax_size_);
        if (bad != std::errc() || tail != value.data() + value.size()) return Damaged("a broken pax size");
      }
      text.remove_prefix(length);
    }
    return {};
  }

  const std::string& path_;
  const InputFile& file_;
  const std::uint64_t begin_;
  std::uint64_t at_, end_;
  const std::string& prefix_;
  std::string long_name_;       // of the next member
  std::uint64_t pax_size_ = 0;  // of the next member; 0 = its header says it
  TreeIndex index_;
};

// A stretch of another file, which it keeps open.
class FileSlice final : public InputFile {
 public:
  FileSlice(std::shared_ptr<const InputFile> file, const TreeFile& place, std::string where)
      : file_(std::move(file)), place_(place), where_(std::move(where)) {}
  std::uint64_t size() const override { return place_.size; }
  Status ReadAt(std::uint64_t offset, std::size_t count, char* out) const override {
    if (offset > place_.size || count > place_.size - offset)
      return DamageError(where_ + ": ends at byte " + std::to_string(place_.size) + ", and " + std::to_string(count) +
                         " bytes were to be read at " + std::to_string(offset));
    return file_->ReadAt(place_.offset + offset, count, out);
  }

 private:
  std::shared_ptr<const InputFile> file_;
  TreeFile place_;
  std::string where_;
};

class TarTree final : public FileTree {
 public:
  TarTree(const std::string& path, TreeIndex index, std::shared_ptr<const InputFile> file, std::string stamp)
      : FileTree(path, std::move(index)), file_(std::move(file)), stamp_(std::move(stamp)) {}

  std::string Where(const TreeFile& file) const override {
    return path() + ": " + file.name + " at byte " + std::to_string(file.offset);
  }
  Result<std::string> Read(const TreeFile& file) const override {
    if (file.size > kMaxTreeFileBytes) return Refused(Where(file) + " is larger than 4 GiB");
    return ReadBytes(*file_, file.offset, file.size);
  }
  Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const override {
    return std::unique_ptr<InputFile>(std::make_unique<FileSlice>(file_, file, Where(file)));
  }
  std::string Stamp() const override { return stamp_; }

 private:
  std::shared_ptr<const InputFile> file_;
  std::string stamp_;
};

}  // namespace

Result<TreeIndex> IndexTar(const std::string& path, const InputFile& file, std::uint64_t base, std::uint64_t size,
                           const std::string& prefix) {
  RETORT_CHECK(base <= file.size() && size <= file.size() - base);
  return TarScan(path, file, base, size, prefix).Run();
}

// Archives in the archive, one level deep, are opened too: their files appear as NAME/FILE for NAME.tar.
Result<std::shared_ptr<const FileTree>> OpenTarTree(const std::string& path, std::unique_ptr<InputFile> file,
                                                    const std::string& stamp) {
  RETORT_ASSIGN_OR_RETURN(TreeIndex outer, IndexTar(path, *file, 0, file->size(), ""));
  TreeIndex index{{}, std::move(outer.folders)};
  for (const TreeFile& member : outer.files) {
    if (!member.name.ends_with(".tar")) {
      index.files.push_back(member);
      continue;
    }
    const std::string folder = member.name.substr(0, member.name.size() - 4);
    RETORT_ASSIGN_OR_RETURN(TreeIndex inner,
                            IndexTar(path + ": " + member.name, *file, member.offset, member.size, folder + "/"));
    index.files.insert(index.files.end(), std::make_move_iterator(inner.files.begin()),
                       std::make_move_iterator(inner.files.end()));
    index.folders.insert(index.folders.end(), std::make_move_iterator(inner.folders.begin()),
                         std::make_move_iterator(inner.folders.end()));
    index.folders.push_back(folder);
    if (index.files.size() + index.folders.size() > kMaxFiles)
      return Refused(path + " holds more than 20 million files");
  }
  RETORT_RETURN_IF_ERROR(CheckNames(path, index));
  return std::shared_ptr<const FileTree>(std::make_shared<TarTree>(path, std::move(index), std::move(file), stamp));
}

namespace {

constexpr std::uint64_t kMaxUnpacked = std::uint64_t{2} << 30;

bool EndsWith(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view end) { return path.ends_with(end); });
}

// Kept by file systems, file managers and network storage beside the user's files.
constexpr std::array<std::string_view, 14> kKept = {"__MACOSX",           "@eaDir",
                                                    "Thumbs.db",          "thumbs.db",
                                                    "ehthumbs.db",        "desktop.ini",
                                                    "$RECYCLE.BIN",       "System Volume Information",
                                                    "lost+found",         "#recycle",
                                                    "#snapshot",          "@Recycle",
                                                    "@Recently-Snapshot", "Network Trash Folder"};

// How this shell would unpack it beside itself.
std::string UnpackCommand(const std::string& path) {
  return "unpack it with `mkdir -p '" + path + ".unpacked' && tar -xf '" + path + "' -C '" + path +
         ".unpacked'` and name that folder";
}

Result<std::shared_ptr<const FileTree>> OpenPackedTar(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const auto packed, env.OpenInput(path));
  const std::uint64_t most = std::min(kMaxUnpacked, ComputeMaxUnpackedSize(packed->size()));
  RETORT_ASSIGN_OR_RETURN(std::string bytes, Gunzip(path, *packed, most, UnpackCommand(path)));
  RETORT_ASSIGN_OR_RETURN(const std::string stamp, StampText(env, path));
  return OpenTarTree(path, MakeMemoryFile(path, std::move(bytes)), stamp);
}

// Where the first hidden part of it begins; its size where none is.
std::size_t HiddenFrom(std::string_view name) {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (IsHiddenPart(name.substr(begin, end - begin))) return begin;
    begin = end + 1;
  }
  return name.size();
}

bool IsHidden(std::string_view name) { return HiddenFrom(name) < name.size(); }

}  // namespace

bool IsHiddenPart(std::string_view part) {
  return part.starts_with('.') || std::find(kKept.begin(), kKept.end(), part) != kKept.end();
}

FileTree::FileTree(std::string path, TreeIndex index)
    : path_(std::move(path)), files_(std::move(index.files)), folders_(std::move(index.folders)) {
  // "cat" of "cat/.gitkeep", the only sign of an empty folder in many archives.
  for (const TreeFile& file : files_) {
    const std::size_t at = HiddenFrom(file.name);
    if (at == 0 || at == file.name.size()) continue;
    const std::string_view folder = std::string_view(file.name).substr(0, at - 1);
    if (folders_.empty() || folders_.back() != folder) folders_.emplace_back(folder);
  }
  std::erase_if(files_, [](const TreeFile& file) { return IsHidden(file.name); });
  std::sort(files_.begin(), files_.end(), [](const TreeFile& a, const TreeFile& b) { return a.name < b.name; });
  std::erase_if(folders_, [](const std::string& folder) { return IsHidden(folder); });
  std::sort(folders_.begin(), folders_.end());
  folders_.erase(std::unique(folders_.begin(), folders_.end()), folders_.end());
}

const TreeFile* FileTree::Find(std::string_view name) const {
  const auto found = std::lower_bound(files_.begin(), files_.end(), name,
                                      [](const TreeFile& file, std::string_view key) { return file.name < key; });
  return found != files_.end() && found->name == name ? &*found : nullptr;
}

std::vector<const TreeFile*> FileTree::Below(std::string_view prefix) const {
  std::vector<const TreeFile*> below;
  auto file = std::lower_bound(files_.begin(), files_.end(), prefix,
                               [](const TreeFile& at, std::string_view key) { return at.name < key; });
  for (; file != files_.end() && file->name.starts_with(prefix); ++file) below.push_back(&*file);
  return below;
}

std::string FindNameProblem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > 4096) return "is longer than 4096 bytes";
  if (name.front() == '/') return "is absolute";
  if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
    return "holds a control character";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return "leads outside by \"..\"";
    begin = end + 1;
  }
  return "";
}

std::string NormalizeName(std::string_view name) {
  std::string clean;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return clean;
}

Status CheckNames(const std::string& path, TreeIndex& index) {
  std::vector<TreeFile>& files = index.files;
  if (files.size() + index.folders.size() > kMaxFiles) return Refused(path + " holds more than 20 million files");
  std::sort(files.begin(), files.end(), [](const TreeFile& a, const TreeFile& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(files.begin(), files.end(),
                                        [](const TreeFile& a, const TreeFile& b) { return a.name == b.name; });
  if (twice == files.end()) return {};
  return Refused(path + " holds the name \"" + twice->name + "\" twice; which one counts cannot be told");
}

std::string StampText(const FileStamp& stamp) {
  return std::to_string(stamp.size) + " " + std::to_string(stamp.modified) + " " + std::to_string(stamp.inode);
}

Result<std::string> StampText(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const FileStamp stamp, env.Stamp(path));
  return stamp.telling ? StampText(stamp) : std::string();
}

Result<std::shared_ptr<const FileTree>> OpenFileTree(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const FileStamp stamp, env.Stamp(path));
  if (stamp.folder) return OpenFolderTree(env, path);
  RETORT_ASSIGN_OR_RETURN(auto file, env.OpenInput(path));
  RETORT_ASSIGN_OR_RETURN(const std::string head, ReadBytes(*file, 0, std::min<std::uint64_t>(file->size(), 512)));
  if (head.starts_with("PK\3\4") || head.starts_with("PK\5\6")) return OpenZipTree(env, path);
  if (head.starts_with("\x1f\x8b")) return OpenPackedTar(env, path);
  if (head.starts_with("BZh") ||
      head.starts_with("\xfd"
                       "7zXZ") ||
      head.starts_with("\x28\xb5\x2f\xfd") || EndsWith(path, {".bz2", ".xz", ".zst", ".7z", ".rar"}))
    return Refused(path + " is compressed in a way that cannot be read in place; " + UnpackCommand(path));
  RETORT_ASSIGN_OR_RETURN(const std::string text, StampText(env, path));
  return OpenTarTree(path, std::move(file), text);
}

}  // namespace retort::storage
