#include "storage/files/atomic_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "storage/files/env.h"
#include "storage/files/file_modes.h"

namespace retort::storage {
namespace {

constexpr std::size_t kDigits = 16;
constexpr std::size_t kAdded = 1 + kDigits + kTemporarySuffix.size();
constexpr int kTries = 100;

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// 64 bits of the operating system's entropy. Empty where it has none.
std::string DrawDigits() {
  std::uint64_t bits = 0;
  ssize_t got = 0;
  do {
    got = ::getrandom(&bits, sizeof bits, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof bits) return "";
  std::array<char, kDigits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(bits));
  return {digits.data(), kDigits};
}

std::string KindText(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFLNK:
      return "a link";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

bool IsNameTaken(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0;
}

// 0 or an errno value. Two ways, since few file systems lack both.
int RenameToNothing(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno == EEXIST) return EEXIST;
  if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;
  if (errno == EEXIST || IsNameTaken(to)) return EEXIST;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

std::string DrawTemporaryPath(const std::string& path) {
  const std::string digits = DrawDigits();
  if (digits.empty()) return "";
  const std::size_t begin = path.find_last_of('/') + 1;
  const std::size_t kept = std::min<std::size_t>(path.size() - begin, NAME_MAX - kAdded);
  return path.substr(0, begin + kept) + "." + digits + std::string(kTemporarySuffix);
}

std::string DescribeObstacle(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || S_ISREG(facts.st_mode)) return "";
  return "'" + path + "' is " + KindText(facts.st_mode) +
         ", and only a plain file is replaced: give another name, or move it away.";
}

Status CheckReplaceable(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 && errno != ENOENT) return FileError(errno, "look at", path);
  std::string obstacle = DescribeObstacle(path);
  return obstacle.empty() ? Status() : EnvironmentError(std::move(obstacle));
}

TemporaryFile::TemporaryFile(int descriptor, std::string path, std::string final_path)
    : descriptor_(descriptor), path_(std::move(path)), final_path_(std::move(final_path)) {}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::exchange(other.path_, {})),
      final_path_(std::move(other.final_path_)) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<TemporaryFile> TemporaryFile::For(const std::string& path) {
  if (path.empty() || path.back() == '/') return FileError(path.empty() ? ENOENT : EISDIR, "create", path);
  for (int tried = 0;; ++tried) {
    std::string drawn = DrawTemporaryPath(path);
    if (drawn.empty()) return EnvironmentError("the operating system has no random numbers for the name of a file");
    const int descriptor =
        ::open(drawn.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);  // NOLINT(*-vararg)
    if (descriptor >= 0) return TemporaryFile(descriptor, std::move(drawn), path);
    if (errno != EINTR && (errno != EEXIST || tried == kTries)) return FileError(errno, "create", path);
  }
}

Status TemporaryFile::CheckSame() const {
  struct stat made {
  }, named{};
  if (::fstat(descriptor_, &made) != 0 || ::lstat(path_.c_str(), &named) != 0)
    return FileError(errno, "look at", path_);
  if (made.st_ino == named.st_ino && made.st_dev == named.st_dev) return {};
  return EnvironmentError("'" + path_ +
                          "' was exchanged for something else while it was written: nobody else should be able " +
                          "to write in that folder.");
}

Status TemporaryFile::Move(Over over) {
  if (over == Over::nothing || !IsNameTaken(final_path_)) {
    const int error = RenameToNothing(path_, final_path_);
    if (error == 0) return {};
    if (error != EEXIST) return FileError(error, "rename a finished file to", final_path_);
    if (over == Over::nothing) return UsageError("'" + final_path_ + "' is there already.");
  }
  RETORT_RETURN_IF_ERROR(CheckReplaceable(final_path_));
  if (::rename(path_.c_str(), final_path_.c_str()) == 0) return {};
  return FileError(errno, "rename a finished file to", final_path_);
}

Status TemporaryFile::Publish(Over over) {
  SetModeFor(final_path_, descriptor_);
  RETORT_RETURN_IF_ERROR(SyncDescriptor(descriptor_, false, final_path_));
  RETORT_RETURN_IF_ERROR(CheckSame());
  RETORT_RETURN_IF_ERROR(Move(over));
  path_.clear();
  return SyncFolder(GetParentFolder(final_path_));
}

Status WriteNewFile(const std::string& path, std::string_view bytes) {
  RETORT_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::For(path));
  RETORT_RETURN_IF_ERROR(WriteAll(file.descriptor(), bytes, path));
  return file.Publish(TemporaryFile::Over::nothing);
}

bool IsTemporaryName(std::string_view name) {
  if (name.size() <= kAdded || !name.ends_with(kTemporarySuffix) || name[name.size() - kAdded] != '.') return false;
  const std::string_view digits = name.substr(name.size() - kAdded + 1, kDigits);
  return std::all_of(digits.begin(), digits.end(), IsHexDigit);
}

std::string GetParentFolder(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status WriteAll(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return FileError(errno, "write", path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status SyncDescriptor(int descriptor, bool data_only, const std::string& path) {
  while ((data_only ? ::fdatasync(descriptor) : ::fsync(descriptor)) != 0) {
    if (errno == EINTR) continue;
    return FileError(errno, "sync", path);
  }
  return {};
}

// Some file systems cannot sync folders and say EINVAL; they order renames themselves.
Status SyncFolder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // NOLINT(*-vararg)
  if (descriptor < 0) return FileError(errno, "open folder", folder);
  int error = 0;
  do {
    error = ::fsync(descriptor) == 0 ? 0 : errno;
  } while (error == EINTR);
  ::close(descriptor);
  return error == 0 || error == EINVAL ? Status() : FileError(error, "sync folder", folder);
}

}  // namespace retort::storage
