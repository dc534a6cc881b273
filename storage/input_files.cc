#include "storage/input_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "storage/file_error.h"
#include "storage/within_memory.h"

namespace retort::storage {
namespace {

class BytesInputFile final : public InputFile {
 public:
  BytesInputFile(std::string bytes, std::string path) : bytes_(std::move(bytes)), path_(std::move(path)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(std::uint64_t offset, std::size_t count, char* out) const override {
    if (offset > bytes_.size() || count > bytes_.size() - offset)
      return DamageError("'" + path_ + "' ends before offset " + std::to_string(offset) +
                         ": it was cut short");
    std::copy_n(bytes_.data() + offset, count, out);
    return {};
  }

 private:
  std::string bytes_, path_;
};

}  // namespace

std::unique_ptr<InputFile> FileInMemory(std::string path, std::string bytes) {
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
  return WithinMemory("'" + path + "' (" + std::to_string(file->size()) + " bytes)",
                      [&] { return ReadBytes(*file, 0, file->size()); });
}

namespace {

std::int64_t Nanoseconds(const struct timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

// The inode's own time changes with every other, and nobody can set it back.
Result<FileStamp> PosixStamp(const std::string& path) {
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
  return FileInMemory(path, std::move(bytes));
}

}  // namespace retort::storage
