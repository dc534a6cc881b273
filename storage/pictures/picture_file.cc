#include "storage/pictures/picture_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "experiments/spec/crc32c.h"
#include "storage/byte_codec.h"
#include "storage/file_error.h"

namespace retort::storage {
namespace {

constexpr std::string_view kMagic = "RTPICS1\n", kEnd = "RTPICSE\n";
constexpr std::size_t kSumBytes = 4;

Status Differs(const std::string& what) { return DamageError("The file of decoded pictures " + what + "."); }

// The first picture whose checksum does not hold, or `count`.
std::int64_t FirstBroken(const char* planes, std::size_t stride, std::string_view sums, std::int64_t count,
                         int threads) {
  std::atomic<std::int64_t> next = 0, broken = count;
  constexpr std::int64_t kAtOnce = 16;
  const auto check = [&] {
    for (std::int64_t first = 0; (first = next.fetch_add(kAtOnce)) < count;) {
      for (std::int64_t i = first; i < std::min(count, first + kAtOnce); ++i) {
        const auto at = static_cast<std::size_t>(i);
        ByteReader sum(sums.substr(at * kSumBytes, kSumBytes));
        if (Crc32c({planes + at * stride, stride}) == sum.U32()) continue;
        std::int64_t known = broken.load();
        while (i < known && !broken.compare_exchange_weak(known, i)) {
        }
      }
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int i = 1; i < threads; ++i) helpers.emplace_back(check);
  } catch (const std::system_error&) {
    // Fewer threads do the same.
  }
  check();
  for (std::thread& helper : helpers) helper.join();
  return broken;
}

Result<std::vector<SkippedPicture>> ReadSkipped(std::string_view bytes) {
  ByteReader reader(bytes);
  std::vector<SkippedPicture> skipped;
  for (std::uint64_t left = reader.U64(); left > 0 && reader.ok(); --left) {
    const std::int64_t row = reader.I64();
    skipped.push_back({row, reader.Text()});
  }
  if (!reader.ok() || !reader.AtEnd()) return Differs("lists its skipped pictures wrongly");
  return skipped;
}

}  // namespace

std::string PictureFileHead(const std::string& key, const PictureFileShape& shape) {
  ByteWriter head;
  head.Raw(kMagic);
  head.U32(kPictureFileVersion);
  head.Text(key);
  for (const std::int64_t extent : {shape.pictures, shape.channels, shape.height, shape.width})
    head.I64(extent);
  head.U32(Crc32c(head.bytes()));
  std::string bytes = std::move(head).Take();
  bytes.resize(kPictureFileHead, '\0');
  return bytes;
}

std::string PictureFileTail(const std::vector<std::uint32_t>& sums,
                            const std::vector<SkippedPicture>& skipped) {
  ByteWriter tail;
  for (const std::uint32_t sum : sums) tail.U32(sum);
  tail.U64(skipped.size());
  for (const SkippedPicture& picture : skipped) {
    tail.I64(picture.row);
    tail.Text(picture.why);
  }
  tail.U32(Crc32c(tail.bytes()));
  tail.Raw(kEnd);
  return std::move(tail).Take();
}

Result<std::shared_ptr<const DecodedPictures>> ReadPictureFile(std::shared_ptr<const void> owner,
                                                               std::string_view bytes, const std::string& key,
                                                               const PictureFileShape& shape, int threads) {
  if (bytes.substr(0, kPictureFileHead) != PictureFileHead(key, shape)) return Differs("has another head");
  const auto count = static_cast<std::size_t>(shape.pictures);
  const std::size_t planes = count * shape.stride(), sums = count * kSumBytes,
                    closing = kSumBytes + kEnd.size();
  const std::size_t least = kPictureFileHead + planes + sums + 8 + closing;
  if (bytes.size() < least || !bytes.ends_with(kEnd)) return Differs("is cut short");
  const std::string_view tail = bytes.substr(kPictureFileHead + planes);
  const std::string_view content = tail.substr(0, tail.size() - closing);
  ByteReader seal(tail.substr(content.size(), kSumBytes));
  if (Crc32c(content) != seal.U32()) return Differs("has a broken tail");
  RETORT_ASSIGN_OR_RETURN(std::vector<SkippedPicture> skipped, ReadSkipped(content.substr(sums)));
  const char* first = bytes.data() + kPictureFileHead;
  const std::int64_t broken =
      FirstBroken(first, shape.stride(), content.substr(0, sums), shape.pictures, threads);
  if (broken < shape.pictures) return Differs("is broken in picture " + std::to_string(broken));
  return std::shared_ptr<const DecodedPictures>(std::make_shared<DecodedPictures>(
      std::move(owner), std::string_view(first, planes), shape.stride(), std::move(skipped)));
}

Result<MappedFile> MapFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return FileError(errno, "open", path);
  struct stat status {};
  const bool plain = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  const std::size_t size = plain ? static_cast<std::size_t>(status.st_size) : 0;
  void* at = plain ? ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  const int error = errno;
  ::close(fd);
  if (!plain) return DamageError("'" + path + "' is no plain file with something in it.");
  if (at == MAP_FAILED) return FileError(error, "map", path);
  std::shared_ptr<const void> owner(at, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return MappedFile{std::move(owner), {static_cast<const char*>(at), size}};
}

void StampUse(const std::string& path) {
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::optional<FileUse> UseOf(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileUse{static_cast<std::uint64_t>(status.st_size),
                 status.st_mtim.tv_sec * 1'000'000'000L + status.st_mtim.tv_nsec};
}

}  // namespace retort::storage
