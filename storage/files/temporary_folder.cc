#include "storage/files/temporary_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/files/atomic_file.h"
#include "storage/files/env.h"

namespace retort::storage {
namespace {

constexpr int kMaxFolderNames = 100;

void RemoveFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

bool IsTaken(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0;
}

// Makes all that was written to the file system of `folder` durable: one call, however many files there are.
Status SyncFileSystem(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // NOLINT(*-vararg)
  if (descriptor < 0) return FileError(errno, "open", folder);
  const int error = ::syncfs(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  return error == 0 ? Status() : FileError(error, "sync", folder);
}

// 0 or an errno value.
int RenameBy(const std::string& from, const std::string& to, unsigned flags) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0 ? 0 : errno;
}

// File systems without these flags say one of two things.
bool LacksFlags(int error) { return error == EINVAL || error == ENOSYS; }

}  // namespace

TemporaryFolder::TemporaryFolder(std::string path, std::string final_path)
    : path_(std::move(path)), final_path_(std::move(final_path)) {}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), final_path_(std::move(other.final_path_)) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) RemoveFolder(path_);
}

Result<TemporaryFolder> TemporaryFolder::For(const std::string& path) {
  if (path.empty() || path.back() == '/') return FileError(ENOENT, "create", path);
  for (int tried = 0;; ++tried) {
    std::string drawn = DrawTemporaryPath(path);
    if (drawn.empty()) return EnvironmentError("the operating system has no random numbers for the name of a folder");
    if (::mkdir(drawn.c_str(), 0777) == 0) return TemporaryFolder(std::move(drawn), path);
    if (errno != EEXIST || tried == kMaxFolderNames) return FileError(errno, "create", path);
  }
}

Status TemporaryFolder::MakeFolder(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? FileError(error.value(), "create", path) : Status();
}

Status TemporaryFolder::WriteFile(const std::string& name, std::string_view bytes) const {
  const std::string path = path_ + "/" + name;
  if (const std::size_t slash = name.rfind('/'); slash != std::string::npos)
    RETORT_RETURN_IF_ERROR(MakeFolder(name.substr(0, slash)));
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);  // NOLINT(*-vararg)
  if (descriptor < 0) return FileError(errno, "create", path);
  Status written = WriteAll(descriptor, bytes, path);
  if (::close(descriptor) != 0 && written.ok()) written = FileError(errno, "write", path);
  return written;
}

// What was at the final path is under the temporary name afterwards, or gone.
Status TemporaryFolder::Replace() {
  struct stat facts {};
  if (::lstat(final_path_.c_str(), &facts) != 0) return FileError(errno, "look at", final_path_);
  if (!S_ISDIR(facts.st_mode)) return UsageError("'" + final_path_ + "' is no folder, and is not replaced by one.");
  int error = RenameBy(path_, final_path_, RENAME_EXCHANGE);
  if (error == 0) {
    RemoveFolder(std::exchange(path_, {}));
    return {};
  }
  if (!LacksFlags(error)) return FileError(error, "rename a finished folder to", final_path_);
  const std::string old = DrawTemporaryPath(final_path_);
  if (old.empty() || ::rename(final_path_.c_str(), old.c_str()) != 0) return FileError(errno, "move away", final_path_);
  if (::rename(path_.c_str(), final_path_.c_str()) != 0) {
    error = errno;
    static_cast<void>(::rename(old.c_str(), final_path_.c_str()));
    return FileError(error, "rename a finished folder to", final_path_);
  }
  path_.clear();
  RemoveFolder(old);
  return {};
}

Status TemporaryFolder::Publish(Over over) {
  RETORT_RETURN_IF_ERROR(SyncFileSystem(path_));
  int error = RenameBy(path_, final_path_, RENAME_NOREPLACE);
  if (LacksFlags(error)) error = IsTaken(final_path_) ? EEXIST : RenameBy(path_, final_path_, 0);
  if (error == 0) {
    path_.clear();
  } else if (error != EEXIST) {
    return FileError(error, "rename a finished folder to", final_path_);
  } else if (over == Over::nothing) {
    return UsageError("'" + final_path_ + "' is there already.");
  } else {
    RETORT_RETURN_IF_ERROR(Replace());
  }
  return SyncFolder(GetParentFolder(final_path_));
}

}  // namespace retort::storage
