// Where a finished file goes, and what it is called until then. Nothing but a plain file is ever replaced, no link is followed,
// and no name is used that somebody else may use.
#pragma once

#include <string>
#include <string_view>

#include "experiments/spec/status.h"

namespace retort::storage {

// What is at `path` and may not be replaced, as a sentence; empty for nothing, a plain file, and what cannot be told.
[[nodiscard]] std::string ObstacleAt(const std::string& path);
// Whether at `path`, itself and not what a link of that name points to, is nothing or a plain file. Error: environment, with
// what is there.
[[nodiscard]] Status CheckReplaceable(const std::string& path);

// A new, empty file beside `path`, under a name that cannot be guessed. Removed when it was not moved.
class TemporaryFile {
 public:
  // Mode 666, less the umask. Error: environment, naming `path`.
  [[nodiscard]] static Result<TemporaryFile> For(const std::string& path);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }  // open for writing
  [[nodiscard]] const std::string& path() const { return path_; }

  enum class Over { plain_file, nothing };
  // Syncs it and gives it the name that For was told, over what `over` allows; then syncs the folder. Error: environment, also
  // when meanwhile another file has the temporary name; usage, with Over::nothing, where there is something by then.
  [[nodiscard]] Status Publish(Over over);

 private:
  TemporaryFile(int descriptor, std::string path, std::string final_path);
  [[nodiscard]] Status CheckSame() const;
  [[nodiscard]] Status Move(Over over);

  int descriptor_;
  std::string path_, final_path_;  // empty `path_`: there is none any more
};

// The whole file or nothing, and only where nothing is. Error: usage where something is; environment.
[[nodiscard]] Status WriteNewFile(const std::string& path, std::string_view bytes);

// Whether a file of that name is what TemporaryFile left of a process that was killed.
[[nodiscard]] bool IsTemporaryName(std::string_view name);

// All of `bytes` to an open file; `path` is for the error's text.
[[nodiscard]] Status WriteAll(int descriptor, std::string_view bytes, const std::string& path);
// fsync, or fdatasync.
[[nodiscard]] Status SyncDescriptor(int descriptor, bool data_only, const std::string& path);
// Makes the names in the folder durable, where its file system can.
[[nodiscard]] Status SyncFolder(const std::string& folder);
[[nodiscard]] std::string ParentOf(const std::string& path);

}  // namespace retort::storage
