#include "storage/data/file_tree.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "storage/data/tree_kinds.h"
#include "storage/input_files.h"
#include "storage/unpacked_size.h"

namespace retort::storage {
namespace {

constexpr std::uint64_t kMostUnpacked = std::uint64_t{2} << 30;

bool EndsWith(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view end) { return path.ends_with(end); });
}

// Kept by file systems, file managers and network storage beside the user's files.
constexpr std::array<std::string_view, 14> kKept = {"__MACOSX",  "@eaDir",       "Thumbs.db", "thumbs.db",
                                                    "ehthumbs.db", "desktop.ini", "$RECYCLE.BIN",
                                                    "System Volume Information", "lost+found", "#recycle",
                                                    "#snapshot", "@Recycle", "@Recently-Snapshot", "Network Trash Folder"};

// How this shell would unpack it beside itself.
std::string UnpackCommand(const std::string& path) {
  return "unpack it with `mkdir -p '" + path + ".unpacked' && tar -xf '" + path + "' -C '" + path +
         ".unpacked'` and name that folder";
}

Result<std::shared_ptr<const FileTree>> OpenPackedTar(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const auto packed, env.OpenInput(path));
  const std::uint64_t most = std::min(kMostUnpacked, MostUnpacked(packed->size()));
  RETORT_ASSIGN_OR_RETURN(std::string bytes, Gunzip(path, *packed, most, UnpackCommand(path)));
  RETORT_ASSIGN_OR_RETURN(const std::string stamp, StampText(env, path));
  return OpenTarTree(path, FileInMemory(path, std::move(bytes)), stamp);
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
  std::sort(files_.begin(), files_.end(),
            [](const TreeFile& a, const TreeFile& b) { return a.name < b.name; });
  std::erase_if(folders_, [](const std::string& folder) { return IsHidden(folder); });
  std::sort(folders_.begin(), folders_.end());
  folders_.erase(std::unique(folders_.begin(), folders_.end()), folders_.end());
}

const TreeFile* FileTree::Find(std::string_view name) const {
  const auto found =
      std::lower_bound(files_.begin(), files_.end(), name,
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

std::string NameTrouble(std::string_view name) {
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

std::string CleanName(std::string_view name) {
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
  if (files.size() + index.folders.size() > kMostFiles) return Refused(path + " holds more than 20 million files");
  std::sort(files.begin(), files.end(), [](const TreeFile& a, const TreeFile& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(
      files.begin(), files.end(), [](const TreeFile& a, const TreeFile& b) { return a.name == b.name; });
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

// The one place that inflates gzip for trees. Several members one after the other are one stream.
Result<std::string> Gunzip(const std::string& path, const InputFile& file, std::uint64_t most,
                           const std::string& otherwise) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return EnvironmentError("zlib could not start");
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } const end{&stream};
  std::string out, piece;
  std::vector<char> buffer(std::size_t{1} << 18);
  std::uint64_t given = 0;
  int state = Z_OK;
  while (true) {
    if (stream.avail_in == 0 && given < file.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(file.size() - given, std::uint64_t{1} << 20);
      RETORT_ASSIGN_OR_RETURN(piece, ReadBytes(file, given, count));
      given += count;
      stream.next_in = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_in = static_cast<uInt>(piece.size());
    }
    if (state == Z_STREAM_END) {
      if (stream.avail_in == 0) return out;
      inflateReset(&stream);
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
    const std::string where = path + ": at byte " + std::to_string(given - stream.avail_in);
    if (out.size() > most)
      return Refused(path + " unpacks to more than " + std::to_string(most >> 20) + " MiB; " + otherwise);
    if (state == Z_BUF_ERROR)
      return DamageError(where + ": truncated inside its gzip stream; fetch the file again");
    if (state != Z_OK && state != Z_STREAM_END)
      return DamageError(where + ": no sound gzip stream; fetch the file again");
  }
}

Result<std::shared_ptr<const FileTree>> OpenFileTree(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const FileStamp stamp, env.Stamp(path));
  if (stamp.folder) return OpenFolderTree(env, path);
  RETORT_ASSIGN_OR_RETURN(auto file, env.OpenInput(path));
  RETORT_ASSIGN_OR_RETURN(const std::string head,
                          ReadBytes(*file, 0, std::min<std::uint64_t>(file->size(), 512)));
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
