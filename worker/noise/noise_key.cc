#include "worker/noise/noise_key.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "experiments/base/status.h"

namespace retort::worker::noise {
namespace {

void StoreLittleEndian(std::uint64_t value, std::uint8_t* out, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

constexpr std::size_t kBlockBytes = 64;

void Generate(const std::uint8_t* key, const std::uint8_t* nonce, std::uint32_t first_block,
              std::span<std::uint8_t> out) {
  const std::uint64_t blocks = out.size() / kBlockBytes;
  RETORT_CHECK(out.size() % kBlockBytes == 0);
  RETORT_CHECK(first_block + blocks <= std::uint64_t{1} << 32);  // the counter must not wrap
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  RETORT_CHECK(crypto_stream_chacha20_ietf_xor_ic(out.data(), out.data(), out.size(), nonce, first_block, key) == 0);
}

}  // namespace

NoiseKey NoiseKey::FromOperatingSystem() {
  NoiseKey key;
  FillFromOperatingSystem(key.bytes_);
  return key;
}

NoiseKey NoiseKey::FromSeed(std::uint64_t seed, TrialId trial) {
  RETORT_CHECK(sodium_init() >= 0);
  static constexpr char kDomain[] = "retort seeded noise 1";
  std::array<std::uint8_t, sizeof(kDomain) + 16> input{};
  std::memcpy(input.data(), kDomain, sizeof(kDomain));
  StoreLittleEndian(seed, input.data() + sizeof(kDomain), 8);
  StoreLittleEndian(trial.bits(), input.data() + sizeof(kDomain) + 8, 8);
  NoiseKey key;
  key.seeded_ = true;
  RETORT_CHECK(crypto_generichash(key.bytes_.data(), key.bytes_.size(), input.data(), input.size(), nullptr, 0) == 0);
  return key;
}

NoiseKey::NoiseKey(NoiseKey&& other) noexcept : bytes_(other.bytes_), seeded_(other.seeded_) {
  sodium_memzero(other.bytes_.data(), other.bytes_.size());
}

NoiseKey& NoiseKey::operator=(NoiseKey&& other) noexcept {
  if (this != &other) {
    bytes_ = other.bytes_;
    seeded_ = other.seeded_;
    sodium_memzero(other.bytes_.data(), other.bytes_.size());
  }
  return *this;
}

NoiseKey::~NoiseKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

void FillFromOperatingSystem(std::span<std::uint8_t> bytes) {
  RETORT_CHECK(sodium_init() >= 0);
  randombytes_buf(bytes.data(), bytes.size());
}

void Wipe(void* bytes, std::size_t size) { sodium_memzero(bytes, size); }

std::string Digest(std::span<const std::uint8_t> bytes) {
  std::array<std::uint8_t, 32> digest;
  RETORT_CHECK(crypto_generichash(digest.data(), digest.size(), bytes.data(), bytes.size(), nullptr, 0) == 0);
  return std::string(digest.begin(), digest.end());
}

std::array<std::uint8_t, 12> MakeNonce(StreamId stream) {
  std::array<std::uint8_t, 12> nonce{};
  StoreLittleEndian(stream.step, nonce.data(), 8);
  StoreLittleEndian(static_cast<std::uint32_t>(stream.purpose), nonce.data() + 8, 4);
  return nonce;
}

ChaChaStream::ChaChaStream(const NoiseKey& key, StreamId stream) : nonce_(MakeNonce(stream)) {
  std::copy(key.bytes().begin(), key.bytes().end(), key_.begin());
}

ChaChaStream::~ChaChaStream() {
  sodium_memzero(key_.data(), key_.size());
  sodium_memzero(buffer_.data(), sizeof(buffer_));
}

void ChaChaStream::Refill() {
  static_assert(sizeof(buffer_) % kBlockBytes == 0);
  std::array<std::uint8_t, sizeof(buffer_)> bytes;
  Generate(key_.data(), nonce_.data(), block_, bytes);
  for (std::size_t word = 0; word < kWords; ++word) buffer_[word] = LoadU64(bytes.data() + 8 * word);
  sodium_memzero(bytes.data(), bytes.size());
  block_ += static_cast<std::uint32_t>(sizeof(buffer_) / kBlockBytes);
  next_ = 0;
}

std::uint64_t ChaChaStream::Below(std::uint64_t count) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t incomplete = (kMax % count + 1) % count;
  std::uint64_t word = NextU64();
  while (word > kMax - incomplete) word = NextU64();
  return word % count;
}

void FillKeystream(const NoiseKey& key, StreamId stream, std::uint32_t first_block, std::span<std::uint8_t> out) {
  const auto nonce = MakeNonce(stream);
  Generate(key.bytes().data(), nonce.data(), first_block, out);
}

}  // namespace retort::worker::noise
