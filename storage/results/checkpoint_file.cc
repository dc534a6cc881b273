#include "storage/results/checkpoint_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <utility>
#include <vector>

#include "experiments/base/digests.h"
#include "storage/files/file_error.h"
#include "storage/files/read_limits.h"
#include "storage/results/hdf5_conventions.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"

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

Status WriteTensor(int fd, const TensorExtent& room, const std::string& path) {
  for (std::uint64_t done = 0; done < room.bytes.size();) {
    const ssize_t wrote =
        ::pwrite(fd, room.bytes.data() + done, room.bytes.size() - done, static_cast<off_t>(room.offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return FileError(errno, "write", path);
    done += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

// What HDF5 wrote between the rooms.
Result<std::string> ReadGap(int fd, std::uint64_t begin, std::uint64_t end, const std::string& path) {
  std::string bytes(end - begin, '\0');
  for (std::uint64_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return FileError(got < 0 ? errno : EIO, "read back", path);
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

Result<std::string> DigestOf(int fd, std::uint64_t size, const std::vector<TensorExtent>& rooms,
                             const std::string& path) {
  Sha256 digest;
  std::uint64_t at = 0;
  for (const TensorExtent& room : rooms) {
    RETORT_ASSIGN_OR_RETURN(const std::string between, ReadGap(fd, at, room.offset, path));
    digest.Update(between);
    digest.Update(room.bytes);
    at = room.offset + room.bytes.size();
  }
  RETORT_ASSIGN_OR_RETURN(const std::string rest, ReadGap(fd, at, std::max(at, size), path));
  digest.Update(rest);
  return digest.FinishHex();
}

// Writes every tensor into its room in the closed file at `path`; rooms do not overlap. Synced. Returns
// the SHA-256 hex of the whole file. Error: environment.
Result<std::string> FillTensors(const std::string& path, std::vector<TensorExtent> rooms) {
  const OpenedFile file(path);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return FileError(errno, "open", path);
  std::sort(rooms.begin(), rooms.end(),
            [](const TensorExtent& a, const TensorExtent& b) { return a.offset < b.offset; });
  std::future<Result<std::string>> digest = std::async(std::launch::async, [&] {
    return DigestOf(file.get(), static_cast<std::uint64_t>(status.st_size), rooms, path);
  });
  Status written;
  for (const TensorExtent& room : rooms)
    if (written.ok()) written = WriteTensor(file.get(), room, path);
  // The digest is computed while the disk is busy; whoever publishes the file has nothing left to sync.
  if (written.ok() && ::fsync(file.get()) != 0 && errno != EINTR) written = FileError(errno, "sync", path);
  Result<std::string> hex = digest.get();
  RETORT_RETURN_IF_ERROR(written);
  return hex;
}

Result<std::string> WriteAt(const std::string& temporary, const Checkpoint& checkpoint, const std::string& name) {
  Hdf5Writer writer(name, temporary);
  writer.Attribute("/", "Conventions", std::string_view(kConventions));
  writer.Attribute("/", "step", checkpoint.step);
  writer.Group("/attributes");
  for (const auto& [key, value] : checkpoint.attributes) writer.Attribute("/attributes", key, value);
  writer.Group("/tensors");
  WriteTensors(writer, "/tensors", checkpoint.tensors);
  RETORT_ASSIGN_OR_RETURN(std::vector<TensorExtent> rooms, writer.Close());
  return FillTensors(temporary, std::move(rooms));
}

}  // namespace

Result<std::string> WriteCheckpoint(Env& env, const std::string& path, const Checkpoint& checkpoint) {
  std::string sha256;
  RETORT_RETURN_IF_ERROR(env.PublishFile(path, [&](const std::string& temporary) -> Status {
    RETORT_ASSIGN_OR_RETURN(sha256, WriteAt(temporary, checkpoint, path));
    return {};
  }));
  return sha256;
}

namespace {

Result<Checkpoint> Decode(std::string_view bytes, const std::string& name) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, Hdf5Reader::OpenView(bytes, name));
  RETORT_RETURN_IF_ERROR(CheckConventions(reader));
  Checkpoint checkpoint;
  RETORT_ASSIGN_OR_RETURN(checkpoint.step, reader.IntegerAttribute("/", "step"));
  RETORT_ASSIGN_OR_RETURN(checkpoint.attributes, reader.TextAttributes("/attributes"));
  RETORT_ASSIGN_OR_RETURN(checkpoint.tensors, ReadTensors(reader, "/tensors", {""}));
  return checkpoint;
}

}  // namespace

Result<Checkpoint> DecodeCheckpoint(std::string_view bytes, const std::string& name) {
  return ReadWithinMemory("'" + name + "'", [&] { return Decode(bytes, name); });
}

}  // namespace retort::storage
