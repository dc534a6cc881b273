#include "worker/noise/keyed_normal.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "experiments/spec/status.h"
#include "worker/noise/box_muller.h"
#include "worker/noise/chacha_stream.h"

namespace retort::worker::noise {

void FillNormal(const NoiseKey& key, StreamId stream, std::uint64_t first, double scale,
                std::span<float> out) {
  RETORT_CHECK(first % 8 == 0);
  constexpr std::size_t kChunk = 1024;  // draws; 8 bytes of keystream each
  std::array<std::uint8_t, 8 * kChunk> bits;
  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    const std::size_t draws = std::min(kChunk, out.size() - done);
    const std::size_t blocks = (draws + 7) / 8;
    const std::uint64_t block = (first + done) / 8;
    RETORT_CHECK(block < std::uint64_t{1} << 32);
    Keystream(key, stream, static_cast<std::uint32_t>(block), std::span(bits).first(64 * blocks));
    for (std::size_t i = 0; i < draws; i += 2) {
      double even, odd;
      NormalPair(LoadU64(bits.data() + 8 * i), LoadU64(bits.data() + 8 * i + 8), even, odd);
      out[done + i] = static_cast<float>(scale * even);
      if (i + 1 < draws) out[done + i + 1] = static_cast<float>(scale * odd);
    }
  }
  sodium_memzero(bits.data(), bits.size());
}

}  // namespace retort::worker::noise
