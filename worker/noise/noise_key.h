// The 256-bit key of all privacy noise of one attempt, and the streams of random bits that it gives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "experiments/base/ids.h"

namespace retort::worker::noise {

// What a stream is for; part of the nonce, so streams of one key never overlap.
enum class Purpose : std::uint32_t {
  gradient = 1,
  votes = 2,
  dpsgd = 3,
  response = 4,
  loss = 5,
  labels = 6,
  embedding = 7,
  thresholds = 8,
  consensus = 9,
  validation = 10
};

// One stream of a key. A stream is drawn once: the mechanisms refuse to go back.
struct StreamId {
  std::uint64_t step = 0;
  Purpose purpose = Purpose::gradient;
};

// Move-only; zeroed on destruction; never stored, sent or logged.
class NoiseKey {
 public:
  static constexpr std::size_t kBytes = 32;

  // From the operating system's entropy: a new key at every call.
  [[nodiscard]] static NoiseKey FromOperatingSystem();
  // Reproducible, for tests and bit-exact comparison: claims of such a run are unbounded. The same
  // (seed, trial) gives the same key in every attempt.
  [[nodiscard]] static NoiseKey FromSeed(std::uint64_t seed, TrialId trial);

  NoiseKey(NoiseKey&& other) noexcept;
  NoiseKey& operator=(NoiseKey&& other) noexcept;
  NoiseKey(const NoiseKey&) = delete;
  NoiseKey& operator=(const NoiseKey&) = delete;
  ~NoiseKey();

  [[nodiscard]] bool seeded() const { return seeded_; }
  // For the stream ciphers and kernels of worker/noise alone.
  [[nodiscard]] std::span<const std::uint8_t, kBytes> bytes() const { return bytes_; }

 private:
  NoiseKey() = default;
  std::array<std::uint8_t, kBytes> bytes_{};
  bool seeded_ = false;
};

// Unpredictable bytes from the operating system: what a draw needs when it is no stream of a key.
void FillFromOperatingSystem(std::span<std::uint8_t> bytes);

// Overwrites with zeros; never optimised away.
void Wipe(void* bytes, std::size_t size);

// 256 bits of BLAKE2b, for telling byte strings apart. Not keyed.
[[nodiscard]] std::string Digest(std::span<const std::uint8_t> bytes);

// The stream from which draws of `stream` take further bits: no Purpose has its number.
inline constexpr std::uint32_t kExtension = 0x80000000u;
[[nodiscard]] constexpr StreamId MakeExtension(StreamId stream) {
  return {stream.step, static_cast<Purpose>(static_cast<std::uint32_t>(stream.purpose) | kExtension)};
}

// Returns the 96-bit nonce of a stream: step, then purpose, little endian.
[[nodiscard]] std::array<std::uint8_t, 12> MakeNonce(StreamId stream);

// Random bits: the ChaCha20 keystream (RFC 8439) of one stream of a key. Not thread-safe. Buffered bits are zeroed on
// destruction.
class ChaChaStream {
 public:
  ChaChaStream(const NoiseKey& key, StreamId stream);
  ~ChaChaStream();
  ChaChaStream(const ChaChaStream&) = delete;
  ChaChaStream& operator=(const ChaChaStream&) = delete;

  // Returns the next 64 bits of the keystream, little endian.
  [[nodiscard]] std::uint64_t NextU64() {
    if (next_ == kWords) Refill();
    return buffer_[next_++];
  }
  // Uniform on 0 .. count - 1, exactly: words of the last, incomplete cycle are thrown away. count >= 1.
  [[nodiscard]] std::uint64_t Below(std::uint64_t count);

 private:
  static constexpr std::size_t kWords = 512;
  void Refill();

  std::array<std::uint8_t, NoiseKey::kBytes> key_;
  std::array<std::uint8_t, 12> nonce_;
  std::uint32_t block_ = 0;
  std::size_t next_ = kWords;
  std::array<std::uint64_t, kWords> buffer_;
};

// Eight bytes as a little-endian number, whatever the machine.
[[nodiscard]] constexpr std::uint64_t LoadU64(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = (value << 8) | bytes[i];
  return value;
}

// Keystream bytes of blocks [first_block, first_block + out.size()/64); out.size() is a multiple of 64.
void FillKeystream(const NoiseKey& key, StreamId stream, std::uint32_t first_block, std::span<std::uint8_t> out);

}  // namespace retort::worker::noise
