#include <zip.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "storage/data/tree_kinds.h"

namespace retort::storage {
namespace {

// libzip reads through this, so that archives need no file of the real file system.
struct ZipBytes {
  std::unique_ptr<RandomAccessFile> file;
  std::int64_t at = 0;
  zip_error_t error{};
};

// libzip's callback: exceptions cannot cross it, and none arise but for memory.
zip_int64_t Serve(void* state, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto& bytes = *static_cast<ZipBytes*>(state);
  const std::uint64_t size = bytes.file->size();
  switch (command) {
    case ZIP_SOURCE_OPEN:
      bytes.at = 0;
      return 0;
    case ZIP_SOURCE_READ: {
      const std::uint64_t count = std::min<std::uint64_t>(length, size - static_cast<std::uint64_t>(bytes.at));
      const Result<std::string> read = bytes.file->Read(static_cast<std::uint64_t>(bytes.at), count);
      if (!read.ok()) {
        zip_error_set(&bytes.error, ZIP_ER_READ, 0);
        return -1;
      }
      std::memcpy(data, read->data(), read->size());
      bytes.at += static_cast<std::int64_t>(count);
      return static_cast<zip_int64_t>(count);
    }
    case ZIP_SOURCE_SEEK: {
      const zip_int64_t to = zip_source_seek_compute_offset(static_cast<zip_uint64_t>(bytes.at), size, data, length,
                                                            &bytes.error);
      if (to < 0) return -1;
      bytes.at = to;
      return 0;
    }
    case ZIP_SOURCE_TELL:
      return bytes.at;
    case ZIP_SOURCE_STAT: {
      auto* stat = static_cast<zip_stat_t*>(data);
      zip_stat_init(stat);
      stat->valid = ZIP_STAT_SIZE;
      stat->size = size;
      return sizeof(*stat);
    }
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&bytes.error, data, length);
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                            ZIP_SOURCE_SUPPORTS, -1);
    case ZIP_SOURCE_CLOSE:
      return 0;
    case ZIP_SOURCE_FREE:
      delete static_cast<ZipBytes*>(state);
      return 0;
    default:
      zip_error_set(&bytes.error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

using Archive = std::unique_ptr<zip_t, void (*)(zip_t*)>;

Result<Archive> OpenArchive(const std::string& path, std::unique_ptr<RandomAccessFile> file) {
  zip_error_t error{};
  auto* bytes = new ZipBytes{std::move(file)};
  zip_source_t* source = zip_source_function_create(&Serve, bytes, &error);
  if (source == nullptr) {
    delete bytes;
    return EnvironmentError(path + ": libzip could not start");
  }
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    zip_source_free(source);
    return DamageError(path + ": no sound zip archive (" + why + "); fetch the file again");
  }
  return Archive(archive, [](zip_t* open) { zip_discard(open); });
}

// Of the member, by the attributes of the Unix that wrote it.
bool IsLink(zip_t* archive, zip_uint64_t index) {
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  if (zip_file_get_external_attributes(archive, index, 0, &system, &attributes) != 0) return false;
  return system == ZIP_OPSYS_UNIX && ((attributes >> 16) & 0170000U) == 0120000U;
}

Result<std::vector<TreeFile>> IndexZip(const std::string& path, zip_t* archive) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count > static_cast<zip_int64_t>(kMostFiles)) return Refused(path + " holds more than 20 million files");
  std::vector<TreeFile> files;
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(std::max<zip_int64_t>(count, 0)); ++i) {
    zip_stat_t stat;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE;
    if (zip_stat_index(archive, i, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
      return DamageError(path + ": member " + std::to_string(i) + " has no sound directory entry");
    const std::string name = stat.name;
    const auto refuse = [&](const std::string& why) {
      return Refused(path + ": the name \"" + name + "\" " + why + "; an archive like this is not read");
    };
    if (name.ends_with('/')) continue;
    if (const std::string trouble = NameTrouble(name); !trouble.empty()) return refuse(trouble);
    if (IsLink(archive, i)) return refuse("is a link");
    if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE)
      return refuse("is encrypted");
    files.push_back({CleanName(name), stat.size, i});
  }
  RETORT_RETURN_IF_ERROR(CheckNames(path, files));
  return files;
}

class ZipTree final : public FileTree {
 public:
  ZipTree(const std::string& path, std::vector<TreeFile> files, Archive archive, std::string stamp)
      : FileTree(path, std::move(files)), archive_(std::move(archive)), stamp_(std::move(stamp)) {}

  std::string Where(const TreeFile& file) const override { return path() + ": " + file.name; }

  // An archive of libzip serves one reader at a time.
  Result<std::string> Read(const TreeFile& file) const override {
    if (file.size > kMostFileBytes) return Refused(Where(file) + " unpacks to more than 4 GiB");
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto close = [](zip_file_t* open) { zip_fclose(open); };
    const std::unique_ptr<zip_file_t, decltype(close)> open(zip_fopen_index(archive_.get(), file.offset, 0), close);
    if (open == nullptr)
      return DamageError(Where(file) + ": cannot be unpacked (" + zip_strerror(archive_.get()) + ")");
    // What the directory says may be a lie: memory follows what is there.
    std::string bytes;
    while (bytes.size() <= file.size) {
      char piece[1 << 16];
      const zip_int64_t got = zip_fread(open.get(), piece, sizeof(piece));
      if (got < 0) return DamageError(Where(file) + ": damaged (" + zip_file_strerror(open.get()) + ")");
      if (got == 0) break;
      bytes.append(piece, static_cast<std::size_t>(got));
    }
    if (bytes.size() == file.size) return bytes;
    return DamageError(Where(file) + ": unpacks to " + (bytes.size() < file.size ? "fewer" : "more") +
                       " bytes than the " + std::to_string(file.size) + " that the archive says");
  }

  Result<std::unique_ptr<RandomAccessFile>> Open(const TreeFile& file) const override {
    RETORT_ASSIGN_OR_RETURN(std::string bytes, Read(file));
    return FileInMemory(Where(file), std::move(bytes));
  }
  std::string Stamp() const override { return stamp_; }

 private:
  Archive archive_;
  mutable std::mutex mutex_;
  std::string stamp_;
};

}  // namespace

Result<std::shared_ptr<const FileTree>> OpenZipTree(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(auto file, env.OpenRandom(path));
  RETORT_ASSIGN_OR_RETURN(Archive archive, OpenArchive(path, std::move(file)));
  RETORT_ASSIGN_OR_RETURN(std::vector<TreeFile> files, IndexZip(path, archive.get()));
  RETORT_ASSIGN_OR_RETURN(const std::string stamp, StampText(env, path));
  return std::shared_ptr<const FileTree>(
      std::make_shared<ZipTree>(path, std::move(files), std::move(archive), stamp));
}

}  // namespace retort::storage
