// Reproducible random numbers that need no state: every value is a function of its address
// (seed, purpose, step, row, index). Never used for privacy noise that claims rest on: that is worker/noise.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace retort {

// What a stream is for. Append only: the numbers decide results.
enum class Purpose : std::uint64_t {
  parameters = 1,  // initial weights
  split = 2,       // permutation of a data set
  batches = 3,     // order of training examples
  dropout = 4,
  latents = 5,  // generator inputs whose images are queried
  generator_latents = 6,
  replay = 7,   // which stored batches and rows a student step takes
  shifts = 8,   // random translations
  poisson = 9,  // Poisson sampling under seeded noise
  shards = 10,
  seeded_noise = 11,
  queries = 12,
  crops = 13,  // random crops of bordered images
  flips = 14,  // which images are mirrored
  resized_crops = 15,
  warps = 16,   // affine and elastic maps of images
  mixes = 17,   // which images are blended, and how
  search = 18,  // settings that a sweep tries
};

// A keyed sequence of 64-bit words; word i is Mix(key + (i + 1) * golden), the SplitMix64 output function.
class RngStream {
 public:
  RngStream(std::uint64_t seed, Purpose purpose, std::uint64_t step = 0, std::uint64_t lane = 0);
  explicit RngStream(std::uint64_t key) : key_(key) {}

  [[nodiscard]] std::uint64_t Word(std::uint64_t index) const;
  // Uniform on [0, 1), 53 bits.
  [[nodiscard]] double Uniform(std::uint64_t index) const;
  // Uniform on {0, ..., bound - 1}; bias below 2^-32 for bound < 2^32 (multiply-shift).
  [[nodiscard]] std::int64_t Below(std::uint64_t index, std::int64_t bound) const;
  // The stream of one row: independent of the rows beside it.
  [[nodiscard]] RngStream Lane(std::uint64_t lane) const;

 private:
  std::uint64_t key_;
};

// Fisher-Yates over 0..n-1: for i = n-1 down to 1, swap i with Below(i, i + 1).
[[nodiscard]] std::vector<std::int64_t> DrawPermutation(std::int64_t n, const RngStream& stream);
// Two independent N(0, 1) by Box-Muller of words index and index + 1.
[[nodiscard]] std::pair<double, double> DrawNormalPair(std::uint64_t index, const RngStream& stream);

}  // namespace retort
