#include "worker/noise/chacha_stream.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "experiments/spec/status.h"

namespace retort::worker::noise {
namespace {

constexpr std::size_t kBlockBytes = 64;

void Generate(const std::uint8_t* key, const std::uint8_t* nonce, std::uint32_t first_block,
              std::span<std::uint8_t> out) {
  const std::uint64_t blocks = out.size() / kBlockBytes;
  RETORT_CHECK(out.size() % kBlockBytes == 0);
  RETORT_CHECK(first_block + blocks <= std::uint64_t{1} << 32);  // the counter must not wrap
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  RETORT_CHECK(
      crypto_stream_chacha20_ietf_xor_ic(out.data(), out.data(), out.size(), nonce, first_block, key) == 0);
}

}  // namespace

ChaChaStream::ChaChaStream(const NoiseKey& key, StreamId stream) : nonce_(NonceOf(stream)) {
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
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t incomplete = (kMost % count + 1) % count;
  std::uint64_t word = NextU64();
  while (word > kMost - incomplete) word = NextU64();
  return word % count;
}

void Keystream(const NoiseKey& key, StreamId stream, std::uint32_t first_block, std::span<std::uint8_t> out) {
  const auto nonce = NonceOf(stream);
  Generate(key.bytes().data(), nonce.data(), first_block, out);
}

}  // namespace retort::worker::noise
