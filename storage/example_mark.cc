#include "storage/example_mark.h"

#include <sodium.h>

#include <cstring>

#include "experiments/spec/crc32c.h"
#include "storage/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::string_view kKeyMagic = "RTEXKEY\n";
constexpr std::uint32_t kKeyVersion = 1;
constexpr std::string_view kPictureDomain = "retort-picture-1", kBrokenDomain = "retort-no-picture-1",
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

ExampleDigest DigestOfPicture(std::int64_t channels, std::int64_t height, std::int64_t width,
                              const std::uint8_t* planes) {
  const auto plane = static_cast<std::size_t>(height * width);
  const std::int64_t kept = SamePlanes(channels, plane, planes) ? 1 : channels;
  ByteWriter shape;
  for (const std::int64_t extent : {kept, height, width}) shape.I64(extent);
  Hash hash(kPictureDomain, sizeof(ExampleDigest));
  hash.Add(shape.bytes());
  hash.Add({reinterpret_cast<const char*>(planes), static_cast<std::size_t>(kept) * plane});
  ExampleDigest digest;
  hash.Finish(digest.data());
  return digest;
}

ExampleDigest DigestOfBroken(std::string_view bytes) {
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
  const std::uint32_t crc = Crc32c(out.bytes());
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
    if (magic == kKeyMagic && version == kKeyVersion && reader.U32() == Crc32c(bytes.substr(0, size - 4))) {
      std::memcpy(key.key_.data(), secret.data(), key.key_.size());
      return key;
    }
  }
  return DamageError("'" + path + "' holds no whole key of this version of retort");
}

ExampleMark MarkKey::MarkOf(const ExampleDigest& digest) const {
  ExampleMark mark;
  RETORT_CHECK(crypto_generichash(mark.data(), mark.size(), digest.data(), digest.size(), key_.data(), key_.size()) == 0);
  return mark;
}

std::string MarkKey::Name() const {
  std::array<std::uint8_t, 16> name;
  Hash hash(kNameDomain, name.size(), &key_);
  hash.Finish(name.data());
  std::array<char, 2 * sizeof(name) + 1> hex;
  sodium_bin2hex(hex.data(), hex.size(), name.data(), name.size());
  return hex.data();
}

}  // namespace retort::storage
