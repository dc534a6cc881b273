#include "storage/datasets/example_digests.h"

#include <sodium.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "storage/formats/byte_codec.h"
#include "storage/images/image_decoder.h"

namespace retort::storage {
namespace {

constexpr std::string_view kKeyMagic = "RTEXKEY\n";
constexpr std::uint32_t kKeyVersion = 1;
constexpr std::string_view kImageDomain = "retort-picture-1", kBrokenDomain = "retort-no-picture-1",
                           kNameDomain = "retort-mark-key-1";

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// BLAKE2b in pieces, of which the first says what is hashed.
class Hash {
 public:
  Hash(std::string_view domain, std::size_t size, const std::array<std::uint8_t, 32>* key = nullptr) : size_(size) {
    RETORT_CHECK(sodium_init() >= 0);
    crypto_generichash_init(&state_, key == nullptr ? nullptr : key->data(), key == nullptr ? 0 : key->size(), size);
    Add(domain);
  }
  void Add(std::string_view bytes) { crypto_generichash_update(&state_, Bytes(bytes), bytes.size()); }
  void Finish(std::uint8_t* out) { crypto_generichash_final(&state_, out, size_); }

 private:
  crypto_generichash_state state_;
  std::size_t size_;
};

bool SamePlanes(std::int64_t channels, std::size_t plane, const std::uint8_t* planes) {
  for (std::int64_t c = 1; c < channels; ++c)
    if (std::memcmp(planes, planes + static_cast<std::size_t>(c) * plane, plane) != 0) return false;
  return true;
}

}  // namespace

ExampleDigest ComputeImageDigest(std::int64_t channels, std::int64_t height, std::int64_t width,
                                 const std::uint8_t* planes) {
  const auto plane = static_cast<std::size_t>(height * width);
  const std::int64_t kept = SamePlanes(channels, plane, planes) ? 1 : channels;
  ByteWriter shape;
  for (const std::int64_t extent : {kept, height, width}) shape.I64(extent);
  Hash hash(kImageDomain, sizeof(ExampleDigest));
  hash.Add(shape.bytes());
  hash.Add({reinterpret_cast<const char*>(planes), static_cast<std::size_t>(kept) * plane});
  ExampleDigest digest;
  hash.Finish(digest.data());
  return digest;
}

ExampleDigest ComputeUndecodableDigest(std::string_view bytes) {
  Hash hash(kBrokenDomain, sizeof(ExampleDigest));
  hash.Add(bytes);
  ExampleDigest digest;
  hash.Finish(digest.data());
  return digest;
}

MarkKey MarkKey::Draw() {
  RETORT_CHECK(sodium_init() >= 0);
  MarkKey key;
  randombytes_buf(key.key_.data(), key.key_.size());
  return key;
}

// Magic, version, key, CRC-32C of all before it.
std::string MarkKey::Bytes() const {
  ByteWriter out;
  out.Raw(kKeyMagic);
  out.U32(kKeyVersion);
  out.Raw({reinterpret_cast<const char*>(key_.data()), key_.size()});
  const std::uint32_t crc = ComputeCrc32c(out.bytes());
  out.U32(crc);
  return std::move(out).Take();
}

Result<MarkKey> MarkKey::Parse(std::string_view bytes, const std::string& path) {
  MarkKey key;
  const std::size_t size = kKeyMagic.size() + 4 + key.key_.size() + 4;
  if (bytes.size() == size) {
    ByteReader reader(bytes);
    const std::string_view magic = reader.Raw(kKeyMagic.size());
    const std::uint32_t version = reader.U32();
    const std::string_view secret = reader.Raw(key.key_.size());
    if (magic == kKeyMagic && version == kKeyVersion && reader.U32() == ComputeCrc32c(bytes.substr(0, size - 4))) {
      std::memcpy(key.key_.data(), secret.data(), key.key_.size());
      return key;
    }
  }
  return DamageError("'" + path + "' holds no whole key of this version of retort");
}

ExampleMark MarkKey::ComputeMark(const ExampleDigest& digest) const {
  ExampleMark mark;
  RETORT_CHECK(crypto_generichash(mark.data(), mark.size(), digest.data(), digest.size(), key_.data(), key_.size()) ==
               0);
  return mark;
}

std::string MarkKey::Name() const {
  std::array<std::uint8_t, 16> name;
  Hash hash(kNameDomain, name.size(), &key_);
  hash.Finish(name.data());
  return FormatHex({reinterpret_cast<const char*>(name.data()), name.size()});
}

namespace {

constexpr std::string_view kCacheMagic = "RTEXDIG1";

using Digests = std::vector<ExampleDigest>;
using Indices = std::vector<std::int64_t>;

Digests DigestPixels(const ExampleStore& store, const Indices& indices) {
  const std::int64_t size = store.channels() * store.height() * store.width();
  Digests digests;
  digests.reserve(indices.size());
  for (const std::int64_t index : indices)
    digests.push_back(
        ComputeImageDigest(store.channels(), store.height(), store.width(), store.pixels().data() + index * size));
  return digests;
}

ExampleDigest DigestImage(const DecodedImage& image) {
  const auto plane = static_cast<std::size_t>(image.region.height * image.region.width);
  std::vector<std::uint8_t> planes(3 * plane);
  const std::uint8_t* pixel = image.rgb.data();
  std::uint8_t *red = planes.data(), *green = red + plane, *blue = green + plane;
  for (std::size_t i = 0; i < plane; ++i, pixel += 3) {
    red[i] = pixel[0];
    green[i] = pixel[1];
    blue[i] = pixel[2];
  }
  return ComputeImageDigest(3, image.region.height, image.region.width, planes.data());
}

// What cannot be read at all is an error, what cannot be decoded is none.
Result<ExampleDigest> DigestFile(const ExampleStore& store, std::int64_t index) {
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, store.Read(index));
  try {
    const Result<DecodedImage> image = DecodeImage(store.Where(index), bytes);
    return image.ok() ? DigestImage(*image) : ComputeUndecodableDigest(bytes);
  } catch (const std::exception& failure) {
    return EnvironmentError("'" + store.Where(index) + "' could not be decoded: " + failure.what());
  }
}

// Of each index, on several threads; tells of it on the calling one.
Result<Digests> DigestFiles(const ExampleStore& store, const Indices& indices, const DigestOptions& options) {
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
      const Result<ExampleDigest> digest = DigestFile(store, indices[i]);
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

// Of these images of this state of the files; empty where there can be none.
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
  return options.cache.folder + "/" + ComputeSha256Hex(key.bytes()) + ".examples";
}

// Magic, number, digests, CRC-32C of all before it.
std::string CacheBytes(const Digests& digests) {
  ByteWriter out;
  out.Raw(kCacheMagic);
  out.U64(digests.size());
  out.Raw({reinterpret_cast<const char*>(digests.data()), digests.size() * sizeof(ExampleDigest)});
  const std::uint32_t crc = ComputeCrc32c(out.bytes());
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

Result<Digests> DigestEncoded(Env& env, const DataSpec& data, const ExampleStore& store, const Indices& indices,
                              const DigestOptions& options) {
  const std::string path = CachePath(data, store, indices, options);
  if (auto known = ReadCache(env, path, indices.size())) return *std::move(known);
  if (!options.may_decode)
    return Status(StatusCode::cancelled, "data." + data.name + ": its pictures have not been decoded yet");
  RETORT_ASSIGN_OR_RETURN(Digests digests, DigestFiles(store, indices, options));
  // A cache that cannot be written costs time and nothing else.
  if (!path.empty() && env.CreateDirectories(options.cache.folder).ok())
    (void)env.WriteFileAtomically(path, CacheBytes(digests)).ok();
  return digests;
}

}  // namespace

Result<SplitDigests> ComputeSplitDigests(Env& env, const DataSpec& data, const DigestOptions& options) {
  RETORT_ASSIGN_OR_RETURN(const auto store, OpenExamples(env, data));
  RETORT_RETURN_IF_ERROR(CheckUnchanged(env, data, *store, options.cache));
  RETORT_ASSIGN_OR_RETURN(const SplitLocations places, LocateSplits(env, data, *store));
  Indices indices = ListIndices(places.train, data.split.shuffle);
  const Indices apart = ListIndices(places.validation, data.split.shuffle);
  indices.insert(indices.end(), apart.begin(), apart.end());
  const auto hidden = static_cast<std::ptrdiff_t>(indices.size());
  for (const SplitLocation* place : {&places.public_split, &places.test}) {
    const Indices more = ListIndices(*place, data.split.shuffle);
    indices.insert(indices.end(), more.begin(), more.end());
  }
  if (!store->encoded()) {
    const Digests all = DigestPixels(*store, indices);
    return SplitDigests{{all.begin(), all.begin() + hidden}, {all.begin() + hidden, all.end()}};
  }
  RETORT_ASSIGN_OR_RETURN(const Digests all, DigestEncoded(env, data, *store, indices, options));
  return SplitDigests{{all.begin(), all.begin() + hidden}, {all.begin() + hidden, all.end()}};
}

}  // namespace retort::storage
