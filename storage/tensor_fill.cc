#include "storage/tensor_fill.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>

#include "experiments/spec/sha256.h"
#include "storage/file_error.h"

namespace retort::storage {
namespace {

// Closes its descriptor quietly; a failed write is seen by the fsync that follows.
class OpenedFile {
 public:
  explicit OpenedFile(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC)) {}
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  ~OpenedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Status WriteAt(int fd, const TensorRoom& room, const std::string& path) {
  for (std::uint64_t done = 0; done < room.bytes.size();) {
    const ssize_t wrote = ::pwrite(fd, room.bytes.data() + done, room.bytes.size() - done,
                                   static_cast<off_t>(room.offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return FileError(errno, "write", path);
    done += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

// What HDF5 wrote between the rooms.
Result<std::string> ReadBetween(int fd, std::uint64_t begin, std::uint64_t end, const std::string& path) {
  std::string bytes(end - begin, '\0');
  for (std::uint64_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return FileError(got < 0 ? errno : EIO, "read back", path);
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

Result<std::string> DigestOf(int fd, std::uint64_t size, const std::vector<TensorRoom>& rooms,
                             const std::string& path) {
  Sha256 digest;
  std::uint64_t at = 0;
  for (const TensorRoom& room : rooms) {
    RETORT_ASSIGN_OR_RETURN(const std::string between, ReadBetween(fd, at, room.offset, path));
    digest.Update(between);
    digest.Update(room.bytes);
    at = room.offset + room.bytes.size();
  }
  RETORT_ASSIGN_OR_RETURN(const std::string rest, ReadBetween(fd, at, std::max(at, size), path));
  digest.Update(rest);
  return digest.FinishHex();
}

}  // namespace

Result<std::string> FillTensors(const std::string& path, std::vector<TensorRoom> rooms) {
  const OpenedFile file(path);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return FileError(errno, "open", path);
  std::sort(rooms.begin(), rooms.end(),
            [](const TensorRoom& a, const TensorRoom& b) { return a.offset < b.offset; });
  std::future<Result<std::string>> digest = std::async(std::launch::async, [&] {
    return DigestOf(file.get(), static_cast<std::uint64_t>(status.st_size), rooms, path);
  });
  Status written;
  for (const TensorRoom& room : rooms)
    if (written.ok()) written = WriteAt(file.get(), room, path);
  // The digest is computed while the disk is busy; whoever publishes the file has nothing left to sync.
  if (written.ok() && ::fsync(file.get()) != 0 && errno != EINTR) written = FileError(errno, "sync", path);
  Result<std::string> hex = digest.get();
  RETORT_RETURN_IF_ERROR(written);
  return hex;
}

}  // namespace retort::storage
