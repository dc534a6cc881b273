#include "storage/files/file_modes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "storage/files/env.h"

namespace retort::storage {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr mode_t kPlain = S_IRWXU | kOthers;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kSharedFile = S_IRGRP | S_IROTH;
constexpr mode_t kSharedFolder = kSharedFile | S_IXGRP | S_IXOTH;

bool IsLock(const fs::path& path) { return path.filename() == "lock" || path.extension() == ".lock"; }

Status Share(const fs::path& path, mode_t umask) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return errno == ENOENT ? Status() : FileError(errno, "read", path.string());
  const bool folder = S_ISDIR(facts.st_mode);
  if ((!folder && !S_ISREG(facts.st_mode)) || facts.st_uid != ::geteuid()) return {};
  if (!folder && IsLock(path)) return {};
  const mode_t wanted = (facts.st_mode & 07777) | ((folder ? kSharedFolder : kSharedFile) & ~umask);
  if (wanted == (facts.st_mode & 07777) || ::chmod(path.c_str(), wanted) == 0) return {};
  return FileError(errno, "share", path.string());
}

}  // namespace

mode_t ChooseFileModes(bool shared) {
  const mode_t users = ::umask(kPrivateUmask);
  ::umask(shared ? users : users | kPrivateUmask);
  return users;
}

UmaskScope::UmaskScope(mode_t umask) : before_(::umask(umask)) {}

UmaskScope::~UmaskScope() { ::umask(before_); }

Status ShareFolder(const std::string& folder, mode_t umask) {
  RETORT_RETURN_IF_ERROR(Share(folder, umask));
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error))
    RETORT_RETURN_IF_ERROR(Share(entries->path(), umask));
  if (error) return EnvironmentError("'" + folder + "' cannot be listed to share it: " + error.message());
  return {};
}

bool IsReadableByOthers(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && (facts.st_mode & kSharedFile) != 0;
}

void SetModeFor(const std::string& path, int fd) {
  struct stat old {
  }, now{};
  if (::fstat(fd, &now) != 0) return;
  mode_t mode = now.st_mode & kPlain & ~kOthersWrite;
  if (::lstat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode) && old.st_uid == ::geteuid()) {
    mode = old.st_mode & kPlain;
    // What its group was allowed is not for another one.
    if (old.st_gid != now.st_gid && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0)
      mode &= ~static_cast<mode_t>(S_IRWXG);
  }
  if (mode != (now.st_mode & kPlain)) (void)::fchmod(fd, mode);
}

void KeepLockPrivate(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || (facts.st_mode & kOthers) == 0 || facts.st_uid != ::geteuid()) return;
  (void)::fchmod(fd, facts.st_mode & S_IRWXU);
}

}  // namespace retort::storage
