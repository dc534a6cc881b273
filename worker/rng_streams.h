// Reproducible random numbers that need no state: every value is a function of its address
// (seed, purpose, step, row, index). A resumed trial therefore restores no generator, and the numbers do
// not depend on thread count or gang size. Never used for privacy noise that claims rest on: that is
// worker/noise.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace retort::worker {

// What a stream is for. Append only: the numbers decide results.
enum class Purpose : std::uint64_t {
  parameters = 1,    // initial weights
  split = 2,         // permutation of a data set
  batches = 3,       // order of training examples
  dropout = 4,
  latents = 5,       // generator inputs whose images are queried
  generator_latents = 6,
  replay = 7,        // which stored batches and rows a student step takes
  shifts = 8,        // random translations
  poisson = 9,       // Poisson sampling under seeded noise
  shards = 10,
  seeded_noise = 11,
  queries = 12,
  crops = 13,        // random crops of bordered images
  flips = 14,        // which images are mirrored
  resized_crops = 15,
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
[[nodiscard]] std::vector<std::int64_t> Permutation(std::int64_t n, const RngStream& stream);
// f32 [rows, columns] of N(0, 1) by Box-Muller, on the CPU; row r is drawn from stream.Lane(first_row + r).
[[nodiscard]] at::Tensor NormalRows(std::int64_t rows, std::int64_t columns, const RngStream& stream,
                                    std::int64_t first_row = 0);
// f32 of the given shape, on the CPU, uniform on [-bound, bound).
[[nodiscard]] at::Tensor UniformTensor(at::IntArrayRef shape, double bound, const RngStream& stream);
// f32 of the given shape, on the CPU, N(0, deviation^2): the values of NormalRows' row for this stream.
[[nodiscard]] at::Tensor NormalTensor(at::IntArrayRef shape, double deviation, const RngStream& stream);
// The same, each value drawn again, from further lanes of `stream`, until it lies within two deviations.
[[nodiscard]] at::Tensor TruncatedNormalTensor(at::IntArrayRef shape, double deviation, const RngStream& stream);
// Random numbers for rows first_row, first_row + 1, ... of a batch whose other rows are elsewhere.
struct RowStream {
  RowStream(const RngStream& numbers, std::int64_t first = 0)  // NOLINT(google-explicit-constructor)
      : stream(numbers), first_row(first) {}
  RngStream stream;
  std::int64_t first_row = 0;
};

// Of `like`'s shape, type, layout and device, rows outermost in memory: 1 / (1 - p) with probability 1 - p, else 0. p to
// 32 bits. The mask of a row depends on its number in the whole batch alone, below 2^32 elements,
// and has the same bits on every device.
[[nodiscard]] at::Tensor DropoutMask(const at::Tensor& like, double p, const RowStream& stream);

}  // namespace retort::worker
