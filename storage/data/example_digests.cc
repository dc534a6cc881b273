#include "storage/data/example_digests.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "experiments/spec/crc32c.h"
#include "experiments/spec/spec_codec.h"
#include "storage/byte_codec.h"
#include "storage/pictures/picture_decode.h"

namespace retort::storage {
namespace {

constexpr std::string_view kCacheMagic = "RTEXDIG1";

using Digests = std::vector<ExampleDigest>;
using Indices = std::vector<std::int64_t>;

Digests OfPixels(const ExampleStore& store, const Indices& indices) {
  const std::int64_t size = store.channels() * store.height() * store.width();
  Digests digests;
  digests.reserve(indices.size());
  for (const std::int64_t index : indices)
    digests.push_back(DigestOfPicture(store.channels(), store.height(), store.width(),
                                      store.pixels().data() + index * size));
  return digests;
}

ExampleDigest OfPicture(const Picture& picture) {
  const auto plane = static_cast<std::size_t>(picture.region.height * picture.region.width);
  std::vector<std::uint8_t> planes(3 * plane);
  const std::uint8_t* pixel = picture.rgb.data();
  std::uint8_t *red = planes.data(), *green = red + plane, *blue = green + plane;
  for (std::size_t i = 0; i < plane; ++i, pixel += 3) {
    red[i] = pixel[0];
    green[i] = pixel[1];
    blue[i] = pixel[2];
  }
  return DigestOfPicture(3, picture.region.height, picture.region.width, planes.data());
}

// What cannot be read at all is an error, what cannot be decoded is none.
Result<ExampleDigest> OfFile(const ExampleStore& store, std::int64_t index) {
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, store.Read(index));
  try {
    const Result<Picture> picture = DecodePicture(store.Where(index), bytes);
    return picture.ok() ? OfPicture(*picture) : DigestOfBroken(bytes);
  } catch (const std::exception& failure) {
    return EnvironmentError("'" + store.Where(index) + "' could not be decoded: " + failure.what());
  }
}

// Of each index, on several threads; tells of it on the calling one.
Result<Digests> OfFiles(const ExampleStore& store, const Indices& indices, const DigestOptions& options) {
  Digests digests(indices.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Status failure;
  const auto fail = [&](const Status& why) {
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) failure = why;
  };
  const auto work = [&](const DigestProgress& tell) {
    for (std::size_t i = next++; i < indices.size() && !failed; i = next++) {
      const Result<ExampleDigest> digest = OfFile(store, indices[i]);
      if (!digest.ok()) return fail(digest.status());
      digests[i] = *digest;
      if (!tell) continue;
      const Status status = tell(static_cast<std::int64_t>(i) + 1, static_cast<std::int64_t>(indices.size()));
      if (!status.ok()) return fail(status);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work, nullptr);
  work(options.progress);
  for (std::thread& thread : threads) thread.join();
  if (!failure.ok()) return failure;
  return digests;
}

// Of these pictures of this state of the files; empty where there can be none.
std::string CachePath(const DataSpec& data, const ExampleStore& store, const Indices& indices,
                      const DigestOptions& options) {
  const std::string stamp = options.cache.folder.empty() ? "" : store.set().files->Stamp();
  if (stamp.empty()) return "";
  ByteWriter key;
  for (const std::string& text : {data.path, data.reader, data.target, data.version, stamp}) key.Text(text);
  for (const std::int64_t index : indices) {
    key.I64(index);
    key.Text(store.Name(index));
  }
  return options.cache.folder + "/" + Sha256Hex(key.bytes()) + ".examples";
}

// Magic, number, digests, CRC-32C of all before it.
std::string CacheBytes(const Digests& digests) {
  ByteWriter out;
  out.Raw(kCacheMagic);
  out.U64(digests.size());
  out.Raw({reinterpret_cast<const char*>(digests.data()), digests.size() * sizeof(ExampleDigest)});
  const std::uint32_t crc = Crc32c(out.bytes());
  out.U32(crc);
  return std::move(out).Take();
}

std::optional<Digests> ReadCache(Env& env, const std::string& path, std::size_t count) {
  if (path.empty() || !env.Exists(path)) return std::nullopt;
  const std::size_t size = kCacheMagic.size() + 8 + count * sizeof(ExampleDigest) + 4;
  const Result<std::string> bytes = env.ReadSmallFile(path, size);
  if (!bytes.ok() || bytes->size() != size) return std::nullopt;
  Digests digests(count);
  if (count > 0) std::memcpy(digests.data(), bytes->data() + kCacheMagic.size() + 8, count * sizeof(ExampleDigest));
  if (*bytes != CacheBytes(digests)) return std::nullopt;  // damaged: made anew
  return digests;
}

Result<Digests> OfEncoded(Env& env, const DataSpec& data, const ExampleStore& store, const Indices& indices,
                          const DigestOptions& options) {
  const std::string path = CachePath(data, store, indices, options);
  if (auto known = ReadCache(env, path, indices.size())) return *std::move(known);
  if (!options.may_decode)
    return Status(StatusCode::cancelled, "data." + data.name + ": its pictures have not been decoded yet");
  RETORT_ASSIGN_OR_RETURN(Digests digests, OfFiles(store, indices, options));
  // A cache that cannot be written costs time and nothing else.
  if (!path.empty() && env.CreateDirectories(options.cache.folder).ok())
    (void)env.WriteFileAtomically(path, CacheBytes(digests)).ok();
  return digests;
}

}  // namespace

Result<SplitDigests> DigestsOfSplits(Env& env, const DataSpec& data, const DigestOptions& options) {
  RETORT_ASSIGN_OR_RETURN(const auto store, OpenExamples(env, data));
  RETORT_RETURN_IF_ERROR(CheckUnchanged(env, data, *store, options.cache));
  RETORT_ASSIGN_OR_RETURN(const SplitPlaces places, PlacesOf(env, data, *store));
  Indices indices = IndicesOf(places.train, data.split.shuffle);
  const auto hidden = static_cast<std::ptrdiff_t>(indices.size());
  for (const SplitPlace* place : {&places.public_split, &places.test}) {
    const Indices more = IndicesOf(*place, data.split.shuffle);
    indices.insert(indices.end(), more.begin(), more.end());
  }
  if (!store->encoded()) {
    const Digests all = OfPixels(*store, indices);
    return SplitDigests{{all.begin(), all.begin() + hidden}, {all.begin() + hidden, all.end()}};
  }
  RETORT_ASSIGN_OR_RETURN(const Digests all, OfEncoded(env, data, *store, indices, options));
  return SplitDigests{{all.begin(), all.begin() + hidden}, {all.begin() + hidden, all.end()}};
}

}  // namespace retort::storage
