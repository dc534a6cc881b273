#include "storage/pictures/decoded_pictures.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>
#include <utility>

#include "experiments/spec/crc32c.h"
#include "experiments/spec/sha256.h"
#include "storage/byte_codec.h"
#include "storage/output_place.h"
#include "storage/pictures/picture_file.h"

namespace retort::storage {
namespace {

using Clock = std::chrono::steady_clock;
using Shared = std::shared_ptr<const DecodedPictures>;

constexpr std::string_view kEnding = ".pictures";
constexpr std::size_t kBuffer = std::size_t{4} << 20;
constexpr std::chrono::milliseconds kPoll{100};
constexpr std::size_t kMostOfAReason = 500;  // bytes

PictureFileShape ShapeOf(const PictureSet& set) {
  return {static_cast<std::int64_t>(set.rows.size()), set.order.channels, set.order.size.height,
          set.order.size.width};
}

std::string Gigabytes(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes * 10) >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

// Takes pictures in order, and what they are skipped for.
class Writer {
 public:
  using Sink = std::function<Status(std::string_view)>;
  Writer(const PictureSet& set, const PictureProgress& progress, Sink sink)
      : set_(set), progress_(progress), sink_(std::move(sink)) {}

  Status Write(const std::string& key) {
    buffer_ = PictureFileHead(key, ShapeOf(set_));
    RETORT_RETURN_IF_ERROR(PrepareInOrder(
        set_.source, set_.rows, set_.order,
        [this](std::size_t k, Result<PreparedPicture> picture) { return Take(k, std::move(picture)); }));
    buffer_ += PictureFileTail(sums_, skipped_);
    return sink_(buffer_);
  }

 private:
  Status Take(std::size_t k, Result<PreparedPicture> picture) {
    const std::size_t begin = buffer_.size();
    if (picture.ok()) {
      buffer_.append(reinterpret_cast<const char*>(picture->planes.data()), picture->planes.size());
    } else {
      RETORT_RETURN_IF_ERROR(Skip(set_.rows[k], picture.status()));
      buffer_.append(ShapeOf(set_).stride(), '\0');
    }
    sums_.push_back(Crc32c(std::string_view(buffer_).substr(begin)));
    if (buffer_.size() >= kBuffer) {
      RETORT_RETURN_IF_ERROR(sink_(buffer_));
      buffer_.clear();
    }
    return Tell(static_cast<std::int64_t>(k) + 1);
  }
  // Only what the picture's own bytes are to blame for.
  Status Skip(std::int64_t row, const Status& why) {
    const bool broken = why.code() == StatusCode::damage || why.code() == StatusCode::refused;
    if (!broken || set_.order.preprocessing.on_error == OnError::fail) return why;
    skipped_.push_back({row, why.message().substr(0, kMostOfAReason)});
    return {};
  }
  Status Tell(std::int64_t done) {
    const Clock::time_point now = Clock::now();
    if (now - told_ < kPoll) return {};
    told_ = now;
    return progress_(done, static_cast<std::int64_t>(set_.rows.size()));
  }

  const PictureSet& set_;
  const PictureProgress& progress_;
  Sink sink_;
  std::string buffer_;
  std::vector<std::uint32_t> sums_;
  std::vector<SkippedPicture> skipped_;
  Clock::time_point told_ = Clock::now();
};

Status CheckSkips(const PictureSet& set, const DecodedPictures& pictures) {
  if (set.order.preprocessing.on_error != OnError::fail || pictures.skipped().empty()) return {};
  return DamageError(pictures.skipped().front().why);
}

Result<Shared> DecodeInMemory(const PictureSet& set, const std::string& key, const PictureCache& cache,
                              const PictureProgress& progress) {
  const std::uint64_t bytes = ShapeOf(set).stride() * set.rows.size();
  if (bytes > cache.memory_bytes) {
    return EnvironmentError(
        "The decoded pictures need " + Gigabytes(bytes) + ", and without a cache folder " +
        Gigabytes(cache.memory_bytes) +
        " are held at most: set HOME, XDG_CACHE_HOME or RETORT_PICTURE_CACHE to a folder.");
  }
  auto file = std::make_shared<std::string>();
  file->reserve(bytes + 2 * kPictureFileHead);
  Writer writer(set, progress, [&file](std::string_view part) {
    file->append(part);
    return Status();
  });
  RETORT_RETURN_IF_ERROR(writer.Write(key));
  const std::string_view view = *file;
  return ReadPictureFile(std::move(file), view, key, ShapeOf(set), set.order.threads);
}

// Nothing when there is no whole file; what does not hold is removed.
std::optional<Shared> OpenWhole(Env& env, const PictureSet& set, const std::string& path,
                                const std::string& key) {
  if (!env.Exists(path)) return std::nullopt;
  Result<MappedFile> file = MapFile(path);
  if (file.ok()) {
    StampUse(path);
    Result<Shared> pictures = ReadPictureFile(file->owner, file->bytes, key, ShapeOf(set), set.order.threads);
    if (pictures.ok()) return *std::move(pictures);
  }
  (void)env.Remove(path).ok();
  return std::nullopt;
}

// Removes what was not used for longest until `bytes` more fit below the limit.
Status MakeRoom(Env& env, std::uint64_t bytes, const PictureCache& cache) {
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
    const std::optional<FileUse> use = UseOf(cache.folder + "/" + name);
    if (!use) continue;
    held += use->bytes;
    files.emplace_back(*use, name);
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.first.used < b.first.used; });
  for (const auto& [use, name] : files) {
    if (held <= cache.limit_bytes) break;
    RETORT_RETURN_IF_ERROR(env.Remove(cache.folder + "/" + name));
    held -= use.bytes;
  }
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t space, env.FreeBytes(cache.folder));
  if (space >= bytes) return {};
  return EnvironmentError("The decoded pictures need " + Gigabytes(bytes) + ", and '" + cache.folder +
                          "' has " + Gigabytes(space) +
                          " left: make room, or set RETORT_PICTURE_CACHE to another folder.");
}

// Of processes that were killed; the lock is held.
Status RemoveLeftovers(Env& env, const std::string& folder, const std::string& key) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(folder));
  for (const std::string& name : names)
    if (name.starts_with(key + std::string(kEnding) + ".") && IsTemporaryName(name))
      RETORT_RETURN_IF_ERROR(env.Remove(folder + "/" + name));
  return {};
}

Status WriteFile(Env& env, const PictureSet& set, const std::string& path, const std::string& key,
                 const PictureProgress& progress) {
  return env.PublishFile(path, [&](const std::string& temporary) -> Status {
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> file, env.OpenAppend(temporary));
    Writer writer(set, progress, [&file](std::string_view part) { return file->Append(part); });
    return writer.Write(key);
  });
}

// The lock, or nothing when meanwhile the file is there.
Result<std::unique_ptr<FileLock>> Await(Env& env, const std::string& path, const PictureSet& set,
                                        const PictureCache& cache, const PictureProgress& progress) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(cache.wait_seconds));
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

Result<Shared> OpenOrBuild(Env& env, const PictureSet& set, const std::string& key, const PictureCache& cache,
                           const PictureProgress& progress) {
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(cache.folder));
  const std::string path = cache.folder + "/" + key + std::string(kEnding);
  // Twice: what another process left may not hold, or be evicted before it is opened.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (std::optional<Shared> pictures = OpenWhole(env, set, path, key)) return *std::move(pictures);
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, Await(env, path, set, cache, progress));
    if (lock == nullptr || env.Exists(path)) continue;
    RETORT_RETURN_IF_ERROR(RemoveLeftovers(env, cache.folder, key));
    RETORT_RETURN_IF_ERROR(
        MakeRoom(env, ShapeOf(set).stride() * set.rows.size() + 2 * kPictureFileHead, cache));
    RETORT_RETURN_IF_ERROR(WriteFile(env, set, path, key, progress));
  }
  if (std::optional<Shared> pictures = OpenWhole(env, set, path, key)) return *std::move(pictures);
  return EnvironmentError("'" + path + "' is another user's, or does not hold what was written to it: set " +
                          "RETORT_PICTURE_CACHE to a folder of your own, or look whether the disk is failing.");
}

}  // namespace

std::string CacheKey(const PictureSet& set) {
  const Preprocessing& p = set.order.preprocessing;
  ByteWriter key;
  key.Text("retort-decoded-pictures");
  key.U32(kPictureFileVersion);
  key.Text(set.digest);
  key.U64(std::bit_cast<std::uint64_t>(p.crop_top));
  for (const std::int64_t number :
       {p.resize, p.height, p.width, p.crop, set.order.channels, set.order.size.height, set.order.size.width,
        std::int64_t{p.exif_orientation}})
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

Result<Shared> OpenDecoded(Env& env, const PictureSet& set, const PictureCache& cache,
                           const PictureProgress& progress) {
  RETORT_RETURN_IF_ERROR(CheckPreprocessing(set.order.preprocessing));
  const std::string key = CacheKey(set);
  RETORT_ASSIGN_OR_RETURN(Shared pictures, cache.folder.empty()
                                               ? DecodeInMemory(set, key, cache, progress)
                                               : OpenOrBuild(env, set, key, cache, progress));
  RETORT_RETURN_IF_ERROR(CheckSkips(set, *pictures));
  return pictures;
}

}  // namespace retort::storage
