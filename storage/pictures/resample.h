// Pillow's resize with BILINEAR: antialiased, in whole numbers, the same bits. Only what is kept is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/pictures/picture.h"

namespace retort::storage {

// How outputs [first, first + count) of a line of `out` pixels come from a line of `in` pixels.
struct Taps {
  Taps(std::int64_t in, std::int64_t out, std::int64_t first, std::int64_t count);
  std::int64_t most = 0;              // taps of one output
  std::vector<std::int64_t> begin;    // [count]: the first input of each
  std::vector<std::int64_t> taken;    // [count]: how many inputs, 1..most
  std::vector<std::int32_t> weights;  // [count, most], in 2^-22; those of one output sum to about 2^22
  [[nodiscard]] std::int64_t first_input() const { return begin.front(); }
  [[nodiscard]] std::int64_t end_input() const { return begin.back() + taken.back(); }
};

// The part of a picture whose upper left corner is pixel (top, left) of the whole, resized by `down` (rows)
// and `across` (columns): both count from that corner. Into `planes`, u8 [3, outputs of down, outputs of
// across]. `source` holds every input of the taps.
void Resample(const Picture& source, std::int64_t top, std::int64_t left, const Taps& down,
              const Taps& across, std::uint8_t* planes);

}  // namespace retort::storage
