// The kinds of FileTree, and what they share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/data/file_tree.h"

namespace retort::storage {

inline constexpr std::size_t kMostFiles = 20'000'000;

// Errors of the three: as OpenFileTree. Links to files and folders are followed in a folder, which is the
// user's own; its hidden files and folders are left out.
[[nodiscard]] Result<std::shared_ptr<const FileTree>> OpenFolderTree(Env& env, const std::string& path);
[[nodiscard]] Result<std::shared_ptr<const FileTree>> OpenZipTree(Env& env, const std::string& path);
// `stamp` as StampText gave it for the archive.
[[nodiscard]] Result<std::shared_ptr<const FileTree>> OpenTarTree(const std::string& path,
                                                                  std::unique_ptr<InputFile> file,
                                                                  const std::string& stamp);

// Of a file's or a folder's own name: a dot in front, or what file systems, file managers and network storage keep
// beside the files: "__MACOSX", "@eaDir", "Thumbs.db", "lost+found".
[[nodiscard]] bool IsHiddenPart(std::string_view part);
// "a/b" of "./a//b/".
[[nodiscard]] std::string CleanName(std::string_view name);
// Sorts the files by name. Error: refused when one stands twice or there are too many, folders counted.
[[nodiscard]] Status CheckNames(const std::string& path, TreeIndex& index);
// Size, last change and inode.
[[nodiscard]] std::string StampText(const FileStamp& stamp);
// Of a file; empty where the file system keeps no such times.
[[nodiscard]] Result<std::string> StampText(Env& env, const std::string& path);
// All of a gzip file, at most `most` bytes. Errors: damage, naming `path` and the byte; refused when there is
// more, with `otherwise`, which says what to do.
[[nodiscard]] Result<std::string> Gunzip(const std::string& path, const InputFile& file, std::uint64_t most,
                                         const std::string& otherwise);

}  // namespace retort::storage
