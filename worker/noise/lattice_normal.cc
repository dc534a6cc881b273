#include "worker/noise/lattice_normal.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "worker/noise/lattice_pair.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::noise {
namespace {

constexpr std::size_t kBlock = 64;  // bytes of ChaCha20

// Fills the further words of pair `pair`: two blocks of the stream's own extension.
void LoadMore(const NoiseKey& key, StreamId stream, std::uint64_t pair, PairBits& bits) {
  std::array<std::uint8_t, 2 * kBlock> bytes;
  FillKeystream(key, MakeExtension(stream), static_cast<std::uint32_t>(2 * pair), bytes);
  for (std::size_t i = 0; i < PairBits::kMore; ++i) {
    bits.more_radius[i] = LoadU64(bytes.data() + 8 * i);
    bits.more_angle[i] = LoadU64(bytes.data() + 8 * (PairBits::kMore + i));
  }
  sodium_memzero(bytes.data(), bytes.size());
}

}  // namespace

Status CheckLatticeScale(double scale) {
  if (scale >= kMinLatticeScale && scale <= kMaxLatticeScale) return {};
  return UsageError("The noise is " + std::to_string(scale) + " steps of its lattice; what can be drawn exactly is " +
                    std::to_string(kMinLatticeScale) + " to " + std::to_string(kMaxLatticeScale) +
                    ": change the noise or the norm bound.");
}

void FillLatticeNormal(const NoiseKey& key, StreamId stream, std::uint64_t first, double scale, std::span<double> out) {
  RETORT_CHECK(first % 8 == 0 && CheckLatticeScale(scale).ok() && first + out.size() <= std::uint64_t{1} << 32);
  constexpr std::size_t kChunk = 1024;  // draws; 8 bytes of keystream each
  std::array<std::uint8_t, 8 * kChunk> bytes;
  PairBits bits;
  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    const std::size_t draws = std::min(kChunk, out.size() - done);
    const std::size_t blocks = (draws + 7) / 8;
    FillKeystream(key, stream, static_cast<std::uint32_t>((first + done) / 8), std::span(bytes).first(kBlock * blocks));
    for (std::size_t i = 0; i < draws; i += 2) {
      bits.radius = LoadU64(bytes.data() + 8 * i);
      bits.angle = LoadU64(bytes.data() + 8 * i + 8);
      double even, odd;
      LatticePair(
          bits, scale, [&] { LoadMore(key, stream, (first + done + i) / 2, bits); }, even, odd);
      RETORT_CHECK(!std::isnan(even) && !std::isnan(odd));  // open with probability below 2^-120
      out[done + i] = even;
      if (i + 1 < draws) out[done + i + 1] = odd;
    }
  }
  sodium_memzero(bytes.data(), bytes.size());
  sodium_memzero(&bits, sizeof(bits));
}

}  // namespace retort::worker::noise
