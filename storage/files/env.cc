#include "storage/files/env.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "experiments/base/number_text.h"
#include "storage/files/atomic_file.h"
#include "storage/files/file_modes.h"
#include "storage/files/read_limits.h"

namespace retort::storage {
namespace {

class BytesInputFile final : public InputFile {
 public:
  BytesInputFile(std::string bytes, std::string path) : bytes_(std::move(bytes)), path_(std::move(path)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(std::uint64_t offset, std::size_t count, char* out) const override {
    if (offset > bytes_.size() || count > bytes_.size() - offset)
      return DamageError("'" + path_ + "' ends before offset " + std::to_string(offset) + ": it was cut short");
    std::copy_n(bytes_.data() + offset, count, out);
    return {};
  }

 private:
  std::string bytes_, path_;
};

}  // namespace

std::unique_ptr<InputFile> MakeMemoryFile(std::string path, std::string bytes) {
  return std::make_unique<BytesInputFile>(std::move(bytes), std::move(path));
}

Result<std::string> ReadBytes(const InputFile& file, std::uint64_t offset, std::uint64_t count) {
  std::string bytes;
  char probe = 0;
  const bool inside = offset <= file.size() && count <= file.size() - offset;
  if (!inside) RETORT_RETURN_IF_ERROR(file.ReadAt(std::max(offset, file.size()), 1, &probe));
  bytes.resize(static_cast<std::size_t>(inside ? count : 0));
  RETORT_RETURN_IF_ERROR(file.ReadAt(offset, bytes.size(), bytes.data()));
  return bytes;
}

Result<std::string> ReadPlainFile(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, env.OpenInput(path));
  return ReadWithinMemory("'" + path + "' (" + std::to_string(file->size()) + " bytes)",
                          [&] { return ReadBytes(*file, 0, file->size()); });
}

namespace {

std::int64_t Nanoseconds(const struct timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

// The inode's own time changes with every other, and nobody can set it back.
Result<FileStamp> ReadPosixStamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return FileError(errno, "look at", path);
  FileStamp stamp;
  stamp.folder = S_ISDIR(status.st_mode);
  stamp.size = static_cast<std::uint64_t>(status.st_size);
  stamp.modified = std::max(Nanoseconds(status.st_mtim), Nanoseconds(status.st_ctim));
  stamp.inode = status.st_ino;
  stamp.telling = true;
  return stamp;
}

// A file system without folders of its own: what cannot be read as a file is one.
Result<FileStamp> Env::Stamp(const std::string& path) {
  if (!Exists(path)) return EnvironmentError("'" + path + "' is not there");
  const Result<std::string> bytes = ReadFile(path);
  FileStamp stamp;
  stamp.folder = !bytes.ok();
  stamp.size = bytes.ok() ? bytes->size() : 0;
  return stamp;
}

Result<std::unique_ptr<InputFile>> Env::OpenInput(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  return MakeMemoryFile(path, std::move(bytes));
}

namespace {

// Owns a descriptor. Close() reports what close(2) says; the destructor is quiet.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }
  // Linux releases the descriptor even when close is interrupted: never retried.
  [[nodiscard]] int Close() { return ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR ? 0 : errno; }

 private:
  int fd_;
};

Descriptor OpenFile(const std::string& path, int flags, mode_t mode = 0644) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return Descriptor(fd);
}

// A file to write in place. What else is at its name is not written to: no link is followed, and no pipe waited for.
Result<Descriptor> OpenToWrite(const std::string& path, int flags, const char* doing, mode_t mode = 0644) {
  Descriptor file = OpenFile(path, flags | O_NOFOLLOW | O_NONBLOCK, mode);
  const int error = file.valid() ? 0 : errno;
  struct stat status {};
  if (file.valid() && ::fstat(file.get(), &status) != 0) return FileError(errno, doing, path);
  if (file.valid() && S_ISREG(status.st_mode)) return file;
  RETORT_RETURN_IF_ERROR(CheckReplaceable(path));
  return file.valid() ? EnvironmentError("'" + path + "' is no plain file") : FileError(error, doing, path);
}

// By a thread of its own; here where none can be had.
void CloseAside(Descriptor file) {
  const int fd = file.Release();
  try {
    std::thread([fd] { ::close(fd); }).detach();
  } catch (const std::system_error&) {
    ::close(fd);
  }
}

class PosixAppendFile final : public AppendFile {
 public:
  PosixAppendFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Status Append(std::string_view bytes) override { return WriteAll(file_.get(), bytes, path_); }
  Status Sync() override { return SyncDescriptor(file_.get(), true, path_); }
  Status Truncate(std::uint64_t size) override {
    while (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) {
      if (errno == EINTR) continue;
      return FileError(errno, "truncate", path_);
    }
    return {};
  }

 private:
  Descriptor file_;
  std::string path_;
};

Status CutShortError(const std::string& path, std::uint64_t offset) {
  return DamageError("'" + path + "' ends before offset " + std::to_string(offset) + ": it was cut short");
}

class PosixInputFile final : public InputFile {
 public:
  PosixInputFile(Descriptor file, std::uint64_t size, std::string path)
      : file_(std::move(file)), size_(size), path_(std::move(path)) {}
  std::uint64_t size() const override { return size_; }
  Status ReadAt(std::uint64_t offset, std::size_t count, char* out) const override {
    for (std::size_t done = 0; done < count;) {
      const std::uint64_t at = offset + done;
      if (at < offset || at > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()))
        return CutShortError(path_, at);
      const ssize_t got = ::pread(file_.get(), out + done, count - done, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FileError(errno, "read", path_);
      if (got == 0) return CutShortError(path_, offset + count);
      done += static_cast<std::size_t>(got);
    }
    return {};
  }

 private:
  Descriptor file_;
  std::uint64_t size_;
  std::string path_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor file) : file_(std::move(file)) {}

 private:
  Descriptor file_;
};

std::string ReadHolder(int fd) {
  char text[64] = {};
  const ssize_t size = ::pread(fd, text, sizeof(text) - 1, 0);
  std::string holder(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  holder.erase(std::find_if(holder.begin(), holder.end(), [](char c) { return c < ' '; }), holder.end());
  return holder;
}

class PosixFileSystem final : public Env {
 public:
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Result<std::string> ReadFile(const std::string& path) override;
  Result<std::string> ReadSmallFile(const std::string& path, std::uint64_t max_bytes) override;
  Result<std::unique_ptr<InputFile>> OpenInput(const std::string& path) override;
  Result<FileStamp> Stamp(const std::string& path) override { return ReadPosixStamp(path); }
  Status WriteFileAtomically(const std::string& path, std::string_view bytes) override;
  Status PublishFile(const std::string& path, const std::function<Status(const std::string&)>& write) override;
  Status Remove(const std::string& path) override;
  Status CreateDirectories(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Result<std::uint64_t> FreeBytes(const std::string& directory) override;
  bool Exists(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  Result<bool> IsLocked(const std::string& path) override;
};

// A new file's name is made durable at once: its records must not vanish with their folder entry.
Result<std::unique_ptr<AppendFile>> PosixFileSystem::OpenAppend(const std::string& path) {
  Descriptor file = OpenFile(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL);
  if (file.valid()) {
    RETORT_RETURN_IF_ERROR(SyncFolder(GetParentFolder(path)));
    return std::unique_ptr<AppendFile>(std::make_unique<PosixAppendFile>(std::move(file), path));
  }
  if (errno != EEXIST) return FileError(errno, "create", path);
  RETORT_ASSIGN_OR_RETURN(Descriptor existing, OpenToWrite(path, O_WRONLY | O_APPEND, "open for appending"));
  return std::unique_ptr<AppendFile>(std::make_unique<PosixAppendFile>(std::move(existing), path));
}

// Until the end of the file, or until there is more than `most`.
Result<std::string> ReadAll(int fd, std::uint64_t size, std::uint64_t most, const std::string& path) {
  std::string bytes(static_cast<std::size_t>(std::min(size, most)), '\0');
  std::size_t filled = 0;
  while (filled <= most) {
    if (filled == bytes.size()) bytes.resize(bytes.size() + 4096);
    const ssize_t got = ::read(fd, bytes.data() + filled, bytes.size() - filled);
    if (got < 0) {
      if (errno == EINTR) continue;
      return FileError(errno, "read", path);
    }
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

Status TooLarge(const std::string& path, std::uint64_t max_bytes) {
  return Refused("'" + path + "' has more than the " + std::to_string(max_bytes) + " bytes that it may have");
}

Result<std::string> PosixFileSystem::ReadFile(const std::string& path) {
  const Descriptor file = OpenFile(path, O_RDONLY | O_NONBLOCK);  // a pipe is not waited for
  if (!file.valid()) return FileError(errno, "open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return FileError(errno, "read", path);
  if (S_ISDIR(status.st_mode)) return FileError(EISDIR, "read", path);
  if (!S_ISREG(status.st_mode)) return EnvironmentError("'" + path + "' is no plain file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return ReadWithinMemory("'" + path + "' (" + std::to_string(size) + " bytes)",
                          [&] { return ReadAll(file.get(), size, std::numeric_limits<std::uint64_t>::max(), path); });
}

Result<std::string> PosixFileSystem::ReadSmallFile(const std::string& path, std::uint64_t max_bytes) {
  const Descriptor file = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.valid()) {
    if (errno == ELOOP) return Refused("'" + path + "' is a link, and no link is followed here");
    return FileError(errno, "open", path);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return FileError(errno, "read", path);
  if (!S_ISREG(status.st_mode)) return Refused("'" + path + "' is no plain file");
  RETORT_ASSIGN_OR_RETURN(std::string bytes,
                          ReadAll(file.get(), static_cast<std::uint64_t>(status.st_size), max_bytes, path));
  if (bytes.size() > max_bytes) return TooLarge(path, max_bytes);
  return bytes;
}

Result<std::unique_ptr<InputFile>> PosixFileSystem::OpenInput(const std::string& path) {
  Descriptor file = OpenFile(path, O_RDONLY | O_NONBLOCK);  // a pipe is not waited for
  if (!file.valid()) return FileError(errno, "open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return FileError(errno, "read", path);
  if (!S_ISREG(status.st_mode)) return EnvironmentError("'" + path + "' is no plain file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return std::unique_ptr<InputFile>(std::make_unique<PosixInputFile>(std::move(file), size, path));
}

Status PosixFileSystem::WriteFileAtomically(const std::string& path, std::string_view bytes) {
  RETORT_RETURN_IF_ERROR(CheckReplaceable(path));
  RETORT_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::For(path));
  RETORT_RETURN_IF_ERROR(WriteAll(file.descriptor(), bytes, path));
  return file.Publish(TemporaryFile::Over::plain_file);
}

Status PosixFileSystem::PublishFile(const std::string& path, const std::function<Status(const std::string&)>& write) {
  RETORT_RETURN_IF_ERROR(CheckReplaceable(path));
  RETORT_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::For(path));
  RETORT_RETURN_IF_ERROR(write(file.path()));
  return file.Publish(TemporaryFile::Over::plain_file);
}

// The name goes at once. Giving the blocks of a large file back takes the kernel milliseconds that nobody has
// to wait for: the last reference to them is dropped by a thread of its own.
Status PosixFileSystem::Remove(const std::string& path) {
  constexpr off_t kLarge = off_t{4} << 20;
  struct stat status {};
  const bool large = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= kLarge;
  Descriptor blocks = large ? OpenFile(path, O_PATH | O_NOFOLLOW) : Descriptor();
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FileError(errno, "remove", path);
  if (blocks.valid()) CloseAside(std::move(blocks));
  return {};
}

Status PosixFileSystem::CreateDirectories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && part.back() != '/') {
      if (::mkdir(part.c_str(), 0755) == 0) {
        RETORT_RETURN_IF_ERROR(SyncFolder(GetParentFolder(part)));
      } else if (const int error = errno; error != EEXIST) {
        struct stat status {};
        if (::stat(part.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
          return FileError(error, "create folder", part);
      }
    }
    if (end == std::string::npos) break;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return FileError(errno, "create folder", path);
  if (!S_ISDIR(status.st_mode)) return FileError(ENOTDIR, "create folder", path);
  return {};
}

Result<std::vector<std::string>> PosixFileSystem::List(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(directory.c_str()), [](DIR* d) { return ::closedir(d); });
  if (folder == nullptr) return FileError(errno, "list folder", directory);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return FileError(errno, "list folder", directory);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::uint64_t> PosixFileSystem::FreeBytes(const std::string& directory) {
  struct statvfs status {};
  while (::statvfs(directory.c_str(), &status) != 0) {
    if (errno == EINTR) continue;
    return FileError(errno, "ask for the free space of", directory);
  }
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

bool PosixFileSystem::Exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::Lock(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(Descriptor file, OpenToWrite(path, O_RDWR | O_CREAT, "create lock file", 0600));
  KeepLockPrivate(file.get());  // to hold a lock takes no more than to open it for reading
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return FileError(errno, "lock", path);
    const std::string holder = ReadHolder(file.get());
    return EnvironmentError("'" + path + "' is locked by " + (holder.empty() ? "another process" : holder) +
                            ": wait until it ends, or stop it and run the same command again.");
  }
  char host[128] = {};
  if (::gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  const std::string holder =
      "process " + std::to_string(::getpid()) + (host[0] != '\0' ? std::string(" on ") + host : "") + "\n";
  // Who holds it is a courtesy: the lock is valid on a full disk as well.
  if (::ftruncate(file.get(), 0) == 0) (void)WriteAll(file.get(), holder, path).ok();
  return std::unique_ptr<FileLock>(std::make_unique<PosixFileLock>(std::move(file)));
}

// Nothing is written, and others who ask at the same time are not taken for a holder.
Result<bool> PosixFileSystem::IsLocked(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return FileError(errno, "open", path);
  while (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return true;
    return FileError(errno, "lock", path);
  }
  return false;
}

}  // namespace

Result<std::string> Env::ReadSmallFile(const std::string& path, std::uint64_t max_bytes) {
  RETORT_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  if (bytes.size() > max_bytes) return TooLarge(path, max_bytes);
  return bytes;
}

Env& PosixEnv() {
  static PosixFileSystem environment;
  return environment;
}

namespace {

const char* FindRemedy(int error) {
  switch (error) {
    case ENOSPC:
      return "The disk is full: free some space and run the same command again, or choose another folder "
             "with --results DIR.";
    case EDQUOT:
      return "The disk quota is used up: free some space and run the same command again, or choose another "
             "folder with --results DIR.";
    case EROFS:
      return "The file system is mounted read-only: choose a writable folder with --results DIR, or remount "
             "it.";
    case EACCES:
    case EPERM:
      return "Change the owner or the mode, or choose another place.";
    case ENOENT:
      return "A part of the path does not exist: check the spelling.";
    case ENAMETOOLONG:
      return "A file name has 255 bytes at most, and a path 4095: choose a shorter one.";
    case ENOTDIR:
      return "A part of the path is a file and not a folder: check the spelling.";
    case EISDIR:
      return "A file was expected and a folder is there: move the folder away.";
    case EMFILE:
    case ENFILE:
      return "Too many files are open: raise the limit (ulimit -n).";
    case EIO:
      return "The device reported an error: check the disk (dmesg).";
    case ENOLCK:
    case EOPNOTSUPP:
      return "This file system has no file locks: keep the results on a local disk, or mount it with locks.";
    default:
      return "";
  }
}

std::string UserText(uid_t user) {
  passwd entry{}, *found = nullptr;
  char names[4096];
  if (::getpwuid_r(user, &entry, names, sizeof(names), &found) == 0 && found != nullptr) return entry.pw_name;
  return "user " + std::to_string(user);
}

// Of what keeps this user out: the first folder on the way that may not be entered, else the thing itself, or the
// folder that it would be made in.
std::string DescribeOwner(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path part, seen;
  struct stat status {
  }, newest{};
  for (const std::filesystem::path& name : std::filesystem::absolute(path, ignored)) {
    part /= name;
    if (::stat(part.c_str(), &newest) != 0) break;
    seen = part;
    status = newest;
    if (S_ISDIR(status.st_mode) && ::faccessat(AT_FDCWD, part.c_str(), X_OK, AT_EACCESS) != 0) break;
  }
  if (seen.empty()) return "";
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%o", static_cast<unsigned>(status.st_mode & 07777));
  return "'" + seen.string() + "' belongs to " + UserText(status.st_uid) + " and has mode " + mode + ", and this is " +
         UserText(::geteuid()) + ".";
}

// What is free where `path` lies or would lie, as a sentence; empty where that cannot be told.
std::string DescribeFreeSpace(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(path, ignored).parent_path();
  struct statvfs space {};
  while (::statvfs(folder.c_str(), &space) != 0) {
    if (folder.empty() || folder == folder.root_path()) return "";
    folder = folder.parent_path();
  }
  return FormatMebibytes(std::uint64_t{space.f_bavail} * space.f_frsize) + " are free in '" + folder.string() + "'.";
}

}  // namespace

Status FileError(int error, const std::string& doing, const std::string& path) {
  std::string message =
      "Cannot " + doing + " '" + path + "': " + std::error_code(error, std::generic_category()).message() + ".";
  if (error == EACCES || error == EPERM)
    if (const std::string whose = DescribeOwner(path); !whose.empty()) message += " " + whose;
  if (const std::string remedy = FindRemedy(error); !remedy.empty()) message += " " + remedy;
  if (error == ENOSPC)
    if (const std::string free = DescribeFreeSpace(path); !free.empty()) message += " " + free;
  return EnvironmentError(std::move(message));
}

Status CheckFreeSpace(Env& env, const std::string& directory, std::uint64_t bytes, const std::string& what) {
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t free, env.FreeBytes(directory.empty() ? "." : directory));
  if (free >= kSpareBytes && free - kSpareBytes >= bytes) return {};
  return EnvironmentError("The disk is full: " + what + " of " + FormatMebibytes(bytes) + " does not fit into the " +
                          FormatMebibytes(free) + " that are left for '" + directory + "' (" +
                          FormatMebibytes(kSpareBytes) +
                          " stay free for the logs). Free some space and run the same command again, or choose "
                          "another folder with --results DIR.");
}

}  // namespace retort::storage
