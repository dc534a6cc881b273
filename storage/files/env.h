// The file system as an interface, so that tests can fail or stop at any call of it, and its errors as sentences.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::storage {

// What PublishFile and WriteFileAtomically add to the final name; a leftover of it is never read.
inline constexpr std::string_view kTemporarySuffix = ".tmp";

// Append-only file. Closing without Sync leaves durability to the operating system.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  [[nodiscard]] virtual Status Append(std::string_view bytes) = 0;
  [[nodiscard]] virtual Status Sync() = 0;  // fdatasync
  [[nodiscard]] virtual Status Truncate(std::uint64_t size) = 0;
};

// A plain file, read in pieces. Its size is that of the moment when it was opened.
class InputFile {
 public:
  virtual ~InputFile() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // `count` bytes from `offset` on, into `out`. Error: damage, when the file ends before; else environment.
  [[nodiscard]] virtual Status ReadAt(std::uint64_t offset, std::size_t count, char* out) const = 0;
};

// Tells one state of a file from another without reading it.
struct FileStamp {
  bool folder = false;
  std::uint64_t size = 0;     // bytes
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::uint64_t inode = 0;
  // False where the file system keeps no such times: then nothing may be concluded from equal stamps.
  bool telling = false;
};

// Held while alive; released by the operating system when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class Env {
 public:
  virtual ~Env() = default;
  // Opens the file for appending and creates it when it is absent.
  [[nodiscard]] virtual Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) = 0;
  [[nodiscard]] virtual Result<std::string> ReadFile(const std::string& path) = 0;
  // Reads a file that anybody may have put there: a link is not followed and a pipe is not waited for. Error: refused,
  // for more than `max_bytes` and for what is no plain file.
  [[nodiscard]] virtual Result<std::string> ReadSmallFile(const std::string& path, std::uint64_t max_bytes);
  // Opens a plain file for reading; links are followed. Error: environment, also for what is no plain file.
  [[nodiscard]] virtual Result<std::unique_ptr<InputFile>> OpenInput(const std::string& path);
  // Links are followed. Error: environment when the path does not exist.
  [[nodiscard]] virtual Result<FileStamp> Stamp(const std::string& path);
  // Writes a temporary file in the same folder, syncs it, renames it, and syncs the folder.
  [[nodiscard]] virtual Status WriteFileAtomically(const std::string& path, std::string_view bytes) = 0;
  // The same for a file that `write` creates at the temporary path it is given. The temporary file is removed when
  // `write` fails.
  [[nodiscard]] virtual Status PublishFile(const std::string& path,
                                           const std::function<Status(const std::string& temporary)>& write) = 0;
  [[nodiscard]] virtual Status Remove(const std::string& path) = 0;  // absent is ok
  [[nodiscard]] virtual Status CreateDirectories(const std::string& path) = 0;
  [[nodiscard]] virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;  // sorted names
  // Bytes that this user may still write to the file system of the folder; the largest number where that is not known.
  [[nodiscard]] virtual Result<std::uint64_t> FreeBytes(const std::string& directory) {
    (void)directory;
    return std::numeric_limits<std::uint64_t>::max();
  }
  [[nodiscard]] virtual bool Exists(const std::string& path) = 0;
  // Takes an advisory lock on the whole file without waiting. Error: environment, naming the holder where it is known.
  [[nodiscard]] virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  // Whether somebody holds that lock. Error: environment, where this process may not ask.
  [[nodiscard]] virtual Result<bool> IsLocked(const std::string& path) = 0;
};

// The real file system. One shared instance without state.
[[nodiscard]] Env& PosixEnv();

// Returns a file that holds `bytes` in memory; `path` stands in messages.
[[nodiscard]] std::unique_ptr<InputFile> MakeMemoryFile(std::string path, std::string bytes);
// Reads `count` bytes at `offset`. Errors: those of InputFile::ReadAt. Nothing is allocated for bytes behind the file's
// end.
[[nodiscard]] Result<std::string> ReadBytes(const InputFile& file, std::uint64_t offset, std::uint64_t count);
// Reads all of a plain file; a pipe is not waited for, and a device is not read. Error: environment.
[[nodiscard]] Result<std::string> ReadPlainFile(Env& env, const std::string& path);
// Env::Stamp of the real file system.
[[nodiscard]] Result<FileStamp> ReadPosixStamp(const std::string& path);

// System errors as sentences with a remedy, and the check that a large write leaves room on the disk.

// `error` is an errno value; `doing` a verb phrase ("write", "create"). Code: environment.
// A full disk, a read-only file system and a missing permission each have a message of their own.
[[nodiscard]] Status FileError(int error, const std::string& doing, const std::string& path);

inline constexpr std::uint64_t kSpareBytes = std::uint64_t{8} << 20;

// Error: environment, when the file system of `directory` has not `bytes` and kSpareBytes left. `what` is to
// be written: "a checkpoint".
[[nodiscard]] Status CheckFreeSpace(Env& env, const std::string& directory, std::uint64_t bytes,
                                    const std::string& what);

}  // namespace retort::storage
