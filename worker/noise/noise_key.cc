#include "worker/noise/noise_key.h"

#include <sodium.h>

#include <cstring>

#include "experiments/spec/status.h"

namespace retort::worker::noise {
namespace {

void StoreLittleEndian(std::uint64_t value, std::uint8_t* out, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * i));
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
  RETORT_CHECK(
      crypto_generichash(key.bytes_.data(), key.bytes_.size(), input.data(), input.size(), nullptr, 0) == 0);
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

std::array<std::uint8_t, 12> NonceOf(StreamId stream) {
  std::array<std::uint8_t, 12> nonce{};
  StoreLittleEndian(stream.step, nonce.data(), 8);
  StoreLittleEndian(static_cast<std::uint32_t>(stream.purpose), nonce.data() + 8, 4);
  return nonce;
}

}  // namespace retort::worker::noise
