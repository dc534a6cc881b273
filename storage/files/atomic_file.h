// Writing a file under a temporary name and moving it to its final one. Only a plain file is ever replaced, no link is
// followed, and the temporary name cannot be guessed.
#pragma once

#include <string>
#include <string_view>

#include "experiments/base/status.h"

namespace retort::storage {

// Returns a sentence that says what is at `path` and may not be replaced; empty for nothing, for a plain file, and
// where that cannot be found out.
[[nodiscard]] std::string DescribeObstacle(const std::string& path);
// Checks that nothing or a plain file is at `path` (links are not followed). Error: environment, naming what is there.
[[nodiscard]] Status CheckReplaceable(const std::string& path);

// A new, empty file beside its final path, under a name that cannot be guessed. The destructor removes it unless it was
// published.
class TemporaryFile {
 public:
  // Creates the file that is to become `path`, with mode 666 less the umask. Error: environment, naming `path`.
  [[nodiscard]] static Result<TemporaryFile> For(const std::string& path);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }  // open for writing
  [[nodiscard]] const std::string& path() const { return path_; }

  enum class Over { plain_file, nothing };
  // Syncs the file, renames it to its final path, replacing what `over` allows, and syncs the folder. Errors:
  // environment, also when another file has the temporary name meanwhile; usage, with Over::nothing, when the final
  // path exists by then.
  [[nodiscard]] Status Publish(Over over);

 private:
  TemporaryFile(int descriptor, std::string path, std::string final_path);
  [[nodiscard]] Status CheckSame() const;
  [[nodiscard]] Status Move(Over over);

  int descriptor_;
  std::string path_, final_path_;  // empty `path_`: there is none any more
};

// Creates the file at `path` with all of `bytes`, or leaves nothing. Errors: usage when the path exists; environment.
[[nodiscard]] Status WriteNewFile(const std::string& path, std::string_view bytes);

// Returns a new name beside `path`, which begins as that of `path` as far as the longest name allows and cannot be
// guessed; empty where the operating system has no entropy.
[[nodiscard]] std::string DrawTemporaryPath(const std::string& path);
// Whether `name` is that of a TemporaryFile, so that a file of this name is left from a process that was killed.
[[nodiscard]] bool IsTemporaryName(std::string_view name);

// Writes all of `bytes` to an open file; `path` stands in the error.
[[nodiscard]] Status WriteAll(int descriptor, std::string_view bytes, const std::string& path);
// Calls fsync, or fdatasync when `data_only`.
[[nodiscard]] Status SyncDescriptor(int descriptor, bool data_only, const std::string& path);
// Makes the names in the folder durable where its file system can do so.
[[nodiscard]] Status SyncFolder(const std::string& folder);
[[nodiscard]] std::string GetParentFolder(const std::string& path);

}  // namespace retort::storage
