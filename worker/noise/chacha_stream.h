// Random bits: the ChaCha20 keystream (RFC 8439) of one stream of a key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "worker/noise/noise_key.h"

namespace retort::worker::noise {

// Not thread-safe. Buffered bits are zeroed on destruction.
class ChaChaStream {
 public:
  ChaChaStream(const NoiseKey& key, StreamId stream);
  ~ChaChaStream();
  ChaChaStream(const ChaChaStream&) = delete;
  ChaChaStream& operator=(const ChaChaStream&) = delete;

  // The next 64 bits of the keystream, little endian.
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
void Keystream(const NoiseKey& key, StreamId stream, std::uint32_t first_block, std::span<std::uint8_t> out);

}  // namespace retort::worker::noise
