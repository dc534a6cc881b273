// The files below a folder, or inside a tar or zip archive that stays packed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::storage {

struct TreeFile {
  std::string name;          // relative, with '/', without "." and ".." parts
  std::uint64_t size = 0;    // unpacked, in bytes
  std::uint64_t offset = 0;  // tar: of its bytes in the archive; zip: its index there; folder: 0
  std::uint32_t tree = 0;    // of trees that were joined: which one
};

// What an archive or a folder lists, in any order.
struct TreeIndex {
  std::vector<TreeFile> files;
  std::vector<std::string> folders;  // named as files are
};

// Most bytes of one file that Read gives.
inline constexpr std::uint64_t kMaxTreeFileBytes = std::uint64_t{4} << 30;

class FileTree {
 public:
  virtual ~FileTree() = default;
  // Sorted by name; no name twice. Hidden ones are left out (IsHiddenPart).
  [[nodiscard]] const std::vector<TreeFile>& files() const { return files_; }
  // Sorted, without the hidden ones: every folder of a folder; of an archive those with an entry of their own.
  [[nodiscard]] const std::vector<std::string>& folders() const { return folders_; }
  // The folder or archive, for messages.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Where a file lies: its path, or "ARCHIVE: NAME at offset N".
  [[nodiscard]] virtual std::string Where(const TreeFile& file) const = 0;
  // All its bytes. May be called from many threads. Errors: environment when it is gone; damage, naming it.
  [[nodiscard]] virtual Result<std::string> Read(const TreeFile& file) const = 0;
  // A file in it as one that can be read anywhere.
  [[nodiscard]] virtual Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const = 0;
  // Changes when any file changes its name, size, times or inode; empty when the file system
  // keeps no such times. Of an archive: its own.
  [[nodiscard]] virtual std::string Stamp() const = 0;

  // Null when there is none.
  [[nodiscard]] const TreeFile* Find(std::string_view name) const;
  // Those whose name begins with `prefix`.
  [[nodiscard]] std::vector<const TreeFile*> Below(std::string_view prefix) const;

 protected:
  FileTree(std::string path, TreeIndex index);

 private:
  std::string path_;
  std::vector<TreeFile> files_;
  std::vector<std::string> folders_;
};

// `path` is a folder, a tar archive (also .tar.gz or .tgz of at most 2 GiB unpacked, which is unpacked in
// memory), or a zip archive. Tar archives are indexed once and read in place. Errors: environment when there
// is nothing; refused for names that lead outside, links that stand for files, more than 20 million files, an
// archive that is compressed otherwise or unpacks to more (with the command that unpacks it); damage, naming
// the archive and the offset.
[[nodiscard]] Result<std::shared_ptr<const FileTree>> OpenFileTree(Env& env, const std::string& path);

// Several trees as one: the names of each begin with its prefix ("" or ending in '/'). `path` is for
// messages. Error: refused when a name stands twice.
[[nodiscard]] Result<std::shared_ptr<const FileTree>> JoinTrees(
    const std::string& path, std::vector<std::pair<std::string, std::shared_ptr<const FileTree>>> trees);

// The files and folders in a tar archive that takes `size` bytes from `base` on in `file`; the names begin with
// `prefix`. `path` is for messages. ustar, GNU long names and pax. Errors as above.
[[nodiscard]] Result<TreeIndex> IndexTar(const std::string& path, const InputFile& file, std::uint64_t base,
                                         std::uint64_t size, const std::string& prefix);

// Says why this name may not be unpacked or listed: it is absolute, holds "..", a NUL or control characters, or is too
// long. Empty when it may.
[[nodiscard]] std::string FindNameProblem(std::string_view name);

inline constexpr std::size_t kMaxFiles = 20'000'000;

// Errors of the three: as OpenFileTree. Links to files and folders are followed in a folder, which is the
// user's own; its hidden files and folders are left out.
[[nodiscard]] Result<std::shared_ptr<const FileTree>> OpenFolderTree(Env& env, const std::string& path);
[[nodiscard]] Result<std::shared_ptr<const FileTree>> OpenZipTree(Env& env, const std::string& path);
// `stamp` as StampText gave it for the archive.
[[nodiscard]] Result<std::shared_ptr<const FileTree>> OpenTarTree(const std::string& path,
                                                                  std::unique_ptr<InputFile> file,
                                                                  const std::string& stamp);

// Whether a file's or folder's own name begins with a dot, or is one that file systems, file managers and network
// storage keep beside the files: "__MACOSX", "@eaDir", "Thumbs.db", "lost+found".
[[nodiscard]] bool IsHiddenPart(std::string_view part);
// "a/b" of "./a//b/".
[[nodiscard]] std::string NormalizeName(std::string_view name);
// Sorts the files by name. Error: refused when one stands twice or there are too many, folders counted.
[[nodiscard]] Status CheckNames(const std::string& path, TreeIndex& index);
// Size, last change and inode.
[[nodiscard]] std::string StampText(const FileStamp& stamp);
// Of a file; empty where the file system keeps no such times.
[[nodiscard]] Result<std::string> StampText(Env& env, const std::string& path);

}  // namespace retort::storage
