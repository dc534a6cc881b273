// Tensors of reproducible random numbers. A resumed trial restores no generator, and the numbers do not depend on
// thread count or gang size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/rng_stream.h"

namespace retort::worker {

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
