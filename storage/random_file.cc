#include "storage/random_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "storage/file_error.h"

namespace retort::storage {
namespace {

Status EndsBefore(const std::string& path, std::uint64_t size, std::uint64_t offset, std::uint64_t count) {
  return DamageError(path + ": truncated: it ends at byte " + std::to_string(size) + ", and " +
                     std::to_string(count) + " bytes were to be read at offset " + std::to_string(offset));
}

class PosixRandomFile final : public RandomAccessFile {
 public:
  // Takes over the descriptor.
  PosixRandomFile(int file, std::uint64_t size, std::string path)
      : file_(file), size_(size), path_(std::move(path)) {}
  ~PosixRandomFile() override { ::close(file_); }
  PosixRandomFile(const PosixRandomFile&) = delete;
  PosixRandomFile& operator=(const PosixRandomFile&) = delete;
  std::uint64_t size() const override { return size_; }

  Result<std::string> Read(std::uint64_t offset, std::uint64_t count) const override {
    if (offset > size_ || count > size_ - offset) return EndsBefore(path_, size_, offset, count);
    std::string bytes(static_cast<std::size_t>(count), '\0');
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      const ssize_t got = ::pread(file_, bytes.data() + filled, bytes.size() - filled,
                                  static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FileError(errno, "read", path_);
      if (got == 0) return EndsBefore(path_, offset + filled, offset, count);
      filled += static_cast<std::size_t>(got);
    }
    return bytes;
  }

 private:
  int file_;
  std::uint64_t size_;
  std::string path_;
};

class MemoryFile final : public RandomAccessFile {
 public:
  MemoryFile(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::string> Read(std::uint64_t offset, std::uint64_t count) const override {
    if (offset > bytes_.size() || count > bytes_.size() - offset)
      return EndsBefore(path_, bytes_.size(), offset, count);
    return bytes_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
  }

 private:
  std::string path_, bytes_;
};

}  // namespace

Result<std::unique_ptr<RandomAccessFile>> OpenPosixRandom(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return FileError(errno, "open", path);
  struct stat status {};
  const int looked = ::fstat(file, &status);
  const int error = errno;
  auto opened = std::make_unique<PosixRandomFile>(file, static_cast<std::uint64_t>(status.st_size), path);
  if (looked != 0) return FileError(error, "read", path);
  if (!S_ISREG(status.st_mode)) return Refused("'" + path + "' is no plain file");
  return std::unique_ptr<RandomAccessFile>(std::move(opened));
}

Result<FileStamp> PosixStamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return FileError(errno, "look at", path);
  FileStamp stamp;
  stamp.folder = S_ISDIR(status.st_mode);
  stamp.size = static_cast<std::uint64_t>(status.st_size);
  stamp.modified = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  stamp.inode = status.st_ino;
  stamp.telling = true;
  return stamp;
}

Result<std::unique_ptr<RandomAccessFile>> Env::OpenRandom(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  return FileInMemory(path, std::move(bytes));
}

Result<FileStamp> Env::Stamp(const std::string& path) {
  FileStamp stamp;
  if (!Exists(path)) return EnvironmentError("'" + path + "' is not there");
  const Result<std::string> bytes = ReadFile(path);
  stamp.folder = !bytes.ok();
  stamp.size = bytes.ok() ? bytes->size() : 0;
  return stamp;
}

std::unique_ptr<RandomAccessFile> FileInMemory(std::string path, std::string bytes) {
  return std::make_unique<MemoryFile>(std::move(path), std::move(bytes));
}

}  // namespace retort::storage
