#include "storage/images/image_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/environment.h"
#include "experiments/base/number_text.h"
#include "storage/files/atomic_file.h"
#include "storage/files/env.h"
#include "storage/formats/byte_codec.h"

namespace retort::storage {
namespace {

// ---- The file of decoded images, byte by byte: storage/FORMAT.md, "Decoded images"

inline constexpr std::uint32_t kImageFileVersion = 1;
inline constexpr std::size_t kImageFileHead = 4096;  // bytes before the planes, so that they begin on a page

struct ImageFileShape {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;
  [[nodiscard]] std::size_t stride() const { return static_cast<std::size_t>(channels * height * width); }
  bool operator==(const ImageFileShape&) const = default;
};

constexpr std::string_view kMagic = "RTPICS1\n", kEnd = "RTPICSE\n";
constexpr std::size_t kSumBytes = 4;

Status FileDiffers(const std::string& what) { return DamageError("The file of decoded pictures " + what + "."); }

// The first image whose checksum does not hold, or `count`.
std::int64_t FirstBroken(const char* planes, std::size_t stride, std::string_view sums, std::int64_t count,
                         int threads) {
  std::atomic<std::int64_t> next = 0, broken = count;
  constexpr std::int64_t kAtOnce = 16;
  const auto check = [&] {
    for (std::int64_t first = 0; (first = next.fetch_add(kAtOnce)) < count;) {
      for (std::int64_t i = first; i < std::min(count, first + kAtOnce); ++i) {
        const auto at = static_cast<std::size_t>(i);
        ByteReader sum(sums.substr(at * kSumBytes, kSumBytes));
        if (ComputeCrc32c({planes + at * stride, stride}) == sum.U32()) continue;
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

Result<std::vector<SkippedImage>> ReadSkipped(std::string_view bytes) {
  ByteReader reader(bytes);
  std::vector<SkippedImage> skipped;
  for (std::uint64_t left = reader.U64(); left > 0 && reader.ok(); --left) {
    const std::int64_t row = reader.I64();
    skipped.push_back({row, reader.Text()});
  }
  if (!reader.ok() || !reader.AtEnd()) return FileDiffers("lists its skipped pictures wrongly");
  return skipped;
}

// kImageFileHead bytes.
std::string EncodeImageFileHead(const std::string& key, const ImageFileShape& shape) {
  ByteWriter head;
  head.Raw(kMagic);
  head.U32(kImageFileVersion);
  head.Text(key);
  for (const std::int64_t extent : {shape.images, shape.channels, shape.height, shape.width}) head.I64(extent);
  head.U32(ComputeCrc32c(head.bytes()));
  std::string bytes = std::move(head).Take();
  bytes.resize(kImageFileHead, '\0');
  return bytes;
}

// What stands behind the planes; `sums` [images] are their CRC-32C.
std::string EncodeImageFileTail(const std::vector<std::uint32_t>& sums, const std::vector<SkippedImage>& skipped) {
  ByteWriter tail;
  for (const std::uint32_t sum : sums) tail.U32(sum);
  tail.U64(skipped.size());
  for (const SkippedImage& image : skipped) {
    tail.I64(image.row);
    tail.Text(image.why);
  }
  tail.U32(ComputeCrc32c(tail.bytes()));
  tail.Raw(kEnd);
  return std::move(tail).Take();
}

// A whole file of that key and shape, each checksum checked on `threads` threads. Error: damage, saying what
// does not hold.
Result<std::shared_ptr<const DecodedImages>> ReadImageFile(std::shared_ptr<const void> owner, std::string_view bytes,
                                                           const std::string& key, const ImageFileShape& shape,
                                                           int threads) {
  if (bytes.substr(0, kImageFileHead) != EncodeImageFileHead(key, shape)) return FileDiffers("has another head");
  const auto count = static_cast<std::size_t>(shape.images);
  const std::size_t planes = count * shape.stride(), sums = count * kSumBytes, closing = kSumBytes + kEnd.size();
  const std::size_t least = kImageFileHead + planes + sums + 8 + closing;
  if (bytes.size() < least || !bytes.ends_with(kEnd)) return FileDiffers("is cut short");
  const std::string_view tail = bytes.substr(kImageFileHead + planes);
  const std::string_view content = tail.substr(0, tail.size() - closing);
  ByteReader seal(tail.substr(content.size(), kSumBytes));
  if (ComputeCrc32c(content) != seal.U32()) return FileDiffers("has a broken tail");
  RETORT_ASSIGN_OR_RETURN(std::vector<SkippedImage> skipped, ReadSkipped(content.substr(sums)));
  const char* first = bytes.data() + kImageFileHead;
  const std::int64_t broken = FirstBroken(first, shape.stride(), content.substr(0, sums), shape.images, threads);
  if (broken < shape.images) return FileDiffers("is broken in picture " + std::to_string(broken));
  return std::shared_ptr<const DecodedImages>(std::make_shared<DecodedImages>(
      std::move(owner), std::string_view(first, planes), shape.stride(), std::move(skipped)));
}

// A file mapped read-only while alive. Error: environment.
struct MappedFile {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
};

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

// Sets the time when the file was last used to now. Best effort.
void MarkUsed(const std::string& path) { (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

struct FileUse {
  std::uint64_t bytes = 0;
  std::int64_t used = 0;  // ns since the epoch
};

// Nothing for what is no plain file.
std::optional<FileUse> FindFileUse(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileUse{static_cast<std::uint64_t>(status.st_size),
                 status.st_mtim.tv_sec * 1'000'000'000L + status.st_mtim.tv_nsec};
}

// ---- Decoding

constexpr std::size_t kAheadOfEach = 4;

Result<PreparedImage> PrepareOne(const EncodedImages& source, std::int64_t row, const PreparationOptions& order) {
  const std::string name = source.where(row);
  try {
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, source.read(row));
    RETORT_ASSIGN_OR_RETURN(PreparedImage image,
                            PrepareImage(name, bytes, order.preprocessing, order.limits, order.channels));
    if (image.size == order.size) return image;
    return DamageError("'" + name + "' has " + std::to_string(image.size.width) + " x " +
                       std::to_string(image.size.height) + " pixels where the data set's pictures have " +
                       std::to_string(order.size.width) + " x " + std::to_string(order.size.height) +
                       ": give a size, or resize and crop.");
  } catch (const std::exception& failure) {
    return EnvironmentError("'" + name + "' could not be prepared: " + failure.what());
  }
}

// A ring of places: a thread takes the next row while its place is free.
class Ring {
 public:
  Ring(const EncodedImages& source, const std::vector<std::int64_t>& rows, const PreparationOptions& order)
      : source_(source), rows_(rows), order_(order) {
    const auto threads = static_cast<std::size_t>(std::max(1, order.threads));
    places_.resize(threads * kAheadOfEach);
    for (std::size_t i = 0; i < std::min(threads, rows.size()); ++i) Begin();
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    {
      const std::lock_guard lock(mutex_);
      next_ = rows_.size();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // For k = 0, 1, ... in turn.
  Result<PreparedImage> Take(std::size_t k) {
    if (threads_.empty()) return PrepareOne(source_, rows_[k], order_);
    std::unique_lock lock(mutex_);
    std::optional<Result<PreparedImage>>& place = places_[k % places_.size()];
    changed_.wait(lock, [&] { return place.has_value(); });
    Result<PreparedImage> image = *std::move(place);
    place.reset();
    taken_ = k + 1;
    lock.unlock();
    changed_.notify_all();
    return image;
  }

 private:
  // Where no thread can be had, Take does the work itself.
  void Begin() {
    try {
      threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      return;
    }
  }
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return next_ >= rows_.size() || next_ < taken_ + places_.size(); });
      if (next_ >= rows_.size()) return;
      const std::size_t k = next_++;
      lock.unlock();
      Result<PreparedImage> image = PrepareOne(source_, rows_[k], order_);
      lock.lock();
      places_[k % places_.size()] = std::move(image);
      changed_.notify_all();
    }
  }

  const EncodedImages& source_;
  const std::vector<std::int64_t>& rows_;
  const PreparationOptions& order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Result<PreparedImage>>> places_;  // row k lies at k modulo their number
  std::size_t next_ = 0, taken_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

Status PrepareInOrder(const EncodedImages& source, const std::vector<std::int64_t>& rows,
                      const PreparationOptions& order,
                      const std::function<Status(std::size_t, Result<PreparedImage>)>& take) {
  Ring ring(source, rows, order);
  for (std::size_t k = 0; k < rows.size(); ++k) RETORT_RETURN_IF_ERROR(take(k, ring.Take(k)));
  return {};
}

namespace {

using Clock = std::chrono::steady_clock;
using Shared = std::shared_ptr<const DecodedImages>;

constexpr std::string_view kEnding = ".pictures";
constexpr std::int64_t kMaxGibibytes = 1 << 20;
constexpr std::size_t kBuffer = std::size_t{4} << 20;
constexpr std::chrono::milliseconds kPoll{100};
constexpr std::size_t kMaxOfAReason = 500;  // bytes

ImageFileShape FileShape(const ImageSet& set) {
  return {static_cast<std::int64_t>(set.rows.size()), set.order.channels, set.order.size.height, set.order.size.width};
}

std::string Gigabytes(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes * 10) >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

// Takes images in order, and what they are skipped for.
class Writer {
 public:
  using Sink = std::function<Status(std::string_view)>;
  Writer(const ImageSet& set, const DecodingProgress& progress, Sink sink)
      : set_(set), progress_(progress), sink_(std::move(sink)) {}

  Status Write(const std::string& key) {
    buffer_ = EncodeImageFileHead(key, FileShape(set_));
    RETORT_RETURN_IF_ERROR(
        PrepareInOrder(set_.source, set_.rows, set_.order,
                       [this](std::size_t k, Result<PreparedImage> image) { return Take(k, std::move(image)); }));
    buffer_ += EncodeImageFileTail(sums_, skipped_);
    return sink_(buffer_);
  }

 private:
  Status Take(std::size_t k, Result<PreparedImage> image) {
    const std::size_t begin = buffer_.size();
    if (image.ok()) {
      buffer_.append(reinterpret_cast<const char*>(image->planes.data()), image->planes.size());
    } else {
      RETORT_RETURN_IF_ERROR(Skip(set_.rows[k], image.status()));
      buffer_.append(FileShape(set_).stride(), '\0');
    }
    sums_.push_back(ComputeCrc32c(std::string_view(buffer_).substr(begin)));
    if (buffer_.size() >= kBuffer) {
      RETORT_RETURN_IF_ERROR(sink_(buffer_));
      buffer_.clear();
    }
    return Tell(static_cast<std::int64_t>(k) + 1);
  }
  // Only what the image's own bytes are to blame for.
  Status Skip(std::int64_t row, const Status& why) {
    const bool broken = why.code() == StatusCode::damage || why.code() == StatusCode::refused;
    if (!broken || set_.order.preprocessing.on_error == OnError::fail) return why;
    skipped_.push_back({row, why.message().substr(0, kMaxOfAReason)});
    return {};
  }
  Status Tell(std::int64_t done) {
    const Clock::time_point now = Clock::now();
    if (now - told_ < kPoll) return {};
    told_ = now;
    return progress_(done, static_cast<std::int64_t>(set_.rows.size()));
  }

  const ImageSet& set_;
  const DecodingProgress& progress_;
  Sink sink_;
  std::string buffer_;
  std::vector<std::uint32_t> sums_;
  std::vector<SkippedImage> skipped_;
  Clock::time_point told_ = Clock::now();
};

Status CheckSkips(const ImageSet& set, const DecodedImages& images) {
  if (set.order.preprocessing.on_error != OnError::fail || images.skipped().empty()) return {};
  return DamageError(images.skipped().front().why);
}

Result<Shared> DecodeInMemory(const ImageSet& set, const std::string& key, const ImageCache& cache,
                              const DecodingProgress& progress) {
  const std::uint64_t bytes = FileShape(set).stride() * set.rows.size();
  if (bytes > cache.memory_bytes) {
    return EnvironmentError("The decoded pictures need " + Gigabytes(bytes) + ", and without a cache folder " +
                            Gigabytes(cache.memory_bytes) +
                            " are held at most: set HOME, XDG_CACHE_HOME or RETORT_PICTURE_CACHE to a folder.");
  }
  auto file = std::make_shared<std::string>();
  file->reserve(bytes + 2 * kImageFileHead);
  Writer writer(set, progress, [&file](std::string_view part) {
    file->append(part);
    return Status();
  });
  RETORT_RETURN_IF_ERROR(writer.Write(key));
  const std::string_view view = *file;
  return ReadImageFile(std::move(file), view, key, FileShape(set), set.order.threads);
}

// Nothing when there is no whole file; what does not hold is removed.
std::optional<Shared> OpenWhole(Env& env, const ImageSet& set, const std::string& path, const std::string& key) {
  if (!env.Exists(path)) return std::nullopt;
  Result<MappedFile> file = MapFile(path);
  if (file.ok()) {
    MarkUsed(path);
    Result<Shared> images = ReadImageFile(file->owner, file->bytes, key, FileShape(set), set.order.threads);
    if (images.ok()) return *std::move(images);
  }
  (void)env.Remove(path).ok();
  return std::nullopt;
}

// Removes what was not used for longest until `bytes` more fit below the limit.
Status MakeRoom(Env& env, std::uint64_t bytes, const ImageCache& cache) {
  if (bytes > cache.limit_bytes) {
    return EnvironmentError("The decoded pictures need " + Gigabytes(bytes) + ", more than the cache in '" +
                            cache.folder + "' may hold (" + Gigabytes(cache.limit_bytes) +
                            "): raise RETORT_PICTURE_CACHE_GIB, or decode fewer or smaller pictures.");
  }
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(cache.folder));
  std::vector<std::pair<FileUse, std::string>> files;
  std::uint64_t held = bytes;
  for (const std::string& name : names) {
    if (!name.ends_with(kEnding)) continue;
    const std::optional<FileUse> use = FindFileUse(cache.folder + "/" + name);
    if (!use) continue;
    held += use->bytes;
    files.emplace_back(*use, name);
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.first.used < b.first.used; });
  for (const auto& [use, name] : files) {
    if (held <= cache.limit_bytes) break;
    RETORT_RETURN_IF_ERROR(env.Remove(cache.folder + "/" + name));
    held -= use.bytes;
  }
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t space, env.FreeBytes(cache.folder));
  if (space >= bytes) return {};
  return EnvironmentError("The decoded pictures need " + Gigabytes(bytes) + ", and '" + cache.folder + "' has " +
                          Gigabytes(space) + " left: make room, or set RETORT_PICTURE_CACHE to another folder.");
}

// Of processes that were killed; the lock is held.
Status RemoveLeftovers(Env& env, const std::string& folder, const std::string& key) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(folder));
  for (const std::string& name : names)
    if (name.starts_with(key + std::string(kEnding) + ".") && IsTemporaryName(name))
      RETORT_RETURN_IF_ERROR(env.Remove(folder + "/" + name));
  return {};
}

Status WriteFile(Env& env, const ImageSet& set, const std::string& path, const std::string& key,
                 const DecodingProgress& progress) {
  return env.PublishFile(path, [&](const std::string& temporary) -> Status {
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> file, env.OpenAppend(temporary));
    Writer writer(set, progress, [&file](std::string_view part) { return file->Append(part); });
    return writer.Write(key);
  });
}

// The lock, or nothing when meanwhile the file is there.
Result<std::unique_ptr<FileLock>> Await(Env& env, const std::string& path, const ImageSet& set, const ImageCache& cache,
                                        const DecodingProgress& progress) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(cache.wait_seconds));
  for (;;) {
    Result<std::unique_ptr<FileLock>> lock = env.Lock(path + ".lock");
    if (lock.ok()) return lock;
    if (env.Exists(path)) return std::unique_ptr<FileLock>();
    if (Clock::now() >= end) {
      return EnvironmentError("Another process did not finish decoding the same pictures in time. " +
                              lock.status().message());
    }
    RETORT_RETURN_IF_ERROR(progress(0, static_cast<std::int64_t>(set.rows.size())));
    std::this_thread::sleep_for(kPoll);
  }
}

Result<Shared> OpenOrBuild(Env& env, const ImageSet& set, const std::string& key, const ImageCache& cache,
                           const DecodingProgress& progress) {
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(cache.folder));
  const std::string path = cache.folder + "/" + key + std::string(kEnding);
  // Twice: what another process left may not hold, or be evicted before it is opened.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (std::optional<Shared> images = OpenWhole(env, set, path, key)) return *std::move(images);
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, Await(env, path, set, cache, progress));
    if (lock == nullptr || env.Exists(path)) continue;
    RETORT_RETURN_IF_ERROR(RemoveLeftovers(env, cache.folder, key));
    RETORT_RETURN_IF_ERROR(MakeRoom(env, FileShape(set).stride() * set.rows.size() + 2 * kImageFileHead, cache));
    RETORT_RETURN_IF_ERROR(WriteFile(env, set, path, key, progress));
  }
  if (std::optional<Shared> images = OpenWhole(env, set, path, key)) return *std::move(images);
  return EnvironmentError("'" + path + "' is another user's, or does not hold what was written to it: set " +
                          "RETORT_PICTURE_CACHE to a folder of your own, or look whether the disk is failing.");
}

}  // namespace

std::string ComputeCacheKey(const ImageSet& set) {
  const Preprocessing& p = set.order.preprocessing;
  ByteWriter key;
  key.Text("retort-decoded-pictures");
  key.U32(kImageFileVersion);
  key.Text(set.digest);
  key.U64(std::bit_cast<std::uint64_t>(p.crop_top));
  for (const std::int64_t number : {p.resize, p.height, p.width, p.crop, set.order.channels, set.order.size.height,
                                    set.order.size.width, std::int64_t{p.exif_orientation}})
    key.I64(number);
  for (const std::int64_t limit :
       {set.order.limits.side, set.order.limits.pixels, set.order.limits.scans, set.order.limits.scan_pixels})
    key.I64(limit);
  key.U64(set.rows.size());
  for (const std::int64_t row : set.rows) key.I64(row);
  Sha256 sum;
  sum.Update(key.bytes());
  return sum.FinishHex();
}

Result<Shared> OpenDecoded(Env& env, const ImageSet& set, const ImageCache& cache, const DecodingProgress& progress) {
  RETORT_RETURN_IF_ERROR(CheckPreprocessing(set.order.preprocessing));
  const std::string key = ComputeCacheKey(set);
  RETORT_ASSIGN_OR_RETURN(Shared images, cache.folder.empty() ? DecodeInMemory(set, key, cache, progress)
                                                              : OpenOrBuild(env, set, key, cache, progress));
  RETORT_RETURN_IF_ERROR(CheckSkips(set, *images));
  return images;
}

Result<ImageCache> FindImageCache() {
  ImageCache cache;
  const std::string own = GetEnvironmentVariable("RETORT_PICTURE_CACHE").value_or(""), caches = FindCacheFolder();
  if (!own.empty() && !own.starts_with('/'))
    return UsageError("RETORT_PICTURE_CACHE is '" + own + "'; give an absolute folder.");
  cache.folder = own.empty() && !caches.empty() ? caches + "/pictures" : own;
  const std::string limit = GetEnvironmentVariable("RETORT_PICTURE_CACHE_GIB").value_or("");
  if (limit.empty()) return cache;
  const auto gibibytes = ParseWholeNumber(limit, kMaxGibibytes);
  if (!gibibytes)
    return UsageError("RETORT_PICTURE_CACHE_GIB is '" + limit + "'; give a whole number of GiB, 0 to " +
                      std::to_string(kMaxGibibytes) + ".");
  cache.limit_bytes = static_cast<std::uint64_t>(*gibibytes) << 30;
  return cache;
}

}  // namespace retort::storage
