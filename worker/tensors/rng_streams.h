// Tensors of reproducible random numbers. A resumed trial restores no generator, and the numbers do not depend on
// thread count or gang size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/base/rng_stream.h"

namespace retort::worker {

// f32 [rows, columns] of N(0, 1) by Box-Muller, on the CPU; row r is drawn from stream.Lane(first_row + r).
[[nodiscard]] at::Tensor DrawNormalRows(std::int64_t rows, std::int64_t columns, const RngStream& stream,
                                        std::int64_t first_row = 0);
// f32 of the given shape, on the CPU, uniform on [-bound, bound).
[[nodiscard]] at::Tensor DrawUniformTensor(at::IntArrayRef shape, double bound, const RngStream& stream);
// f32 of the given shape, on the CPU, N(0, deviation^2): the values of DrawNormalRows' row for this stream.
[[nodiscard]] at::Tensor DrawNormalTensor(at::IntArrayRef shape, double deviation, const RngStream& stream);
// The same, each value drawn again, from further lanes of `stream`, until it lies within two deviations.
[[nodiscard]] at::Tensor DrawTruncatedNormalTensor(at::IntArrayRef shape, double deviation, const RngStream& stream);
// Where the rows of a part stand in the whole: first, first + 1, ..., or a place given for each.
class RowPlaces {
 public:
  RowPlaces(std::int64_t first = 0) : first_(first) {}  // NOLINT(google-explicit-constructor)
  explicit RowPlaces(std::vector<std::int64_t> each) : each_(std::move(each)) {}

  [[nodiscard]] std::int64_t Of(std::int64_t row) const {
    return each_.empty() ? first_ + row : each_.at(static_cast<std::size_t>(row));
  }
  [[nodiscard]] bool consecutive() const { return each_.empty(); }

 private:
  std::int64_t first_ = 0;
  std::vector<std::int64_t> each_;
};

// Random numbers for rows of a batch whose other rows are elsewhere.
struct RowStream {
  RowStream(const RngStream& numbers, RowPlaces of = 0)  // NOLINT(google-explicit-constructor)
      : stream(numbers), places(std::move(of)) {}
  // The lane of that row of the whole batch.
  [[nodiscard]] RngStream Lane(std::int64_t row) const {
    return stream.Lane(static_cast<std::uint64_t>(places.Of(row)));
  }
  RngStream stream;
  RowPlaces places;
};

// Of `like`'s shape, type, layout and device, rows outermost in memory: 1 / (1 - p) with probability 1 - p, else 0. p
// to 32 bits. The mask of a row depends on its place in the whole batch alone, below 2^32 elements, and has the same
// bits on every device. `stream`: of consecutive places.
[[nodiscard]] at::Tensor DrawDropoutMask(const at::Tensor& like, double p, const RowStream& stream);

// The masks of the dropout layers of one forward pass.
class DropoutMasks {
 public:
  // Layer l has lane l of the stream.
  DropoutMasks(const RowStream& rows) : rows_(rows) {}  // NOLINT(google-explicit-constructor)
  // The same masks by their keys, i64 [layers, 2], on the CPU or on the device of what they are for, which then reads
  // them itself: a step that a device has recorded can be given other ones. `first`: place of the first row.
  DropoutMasks(at::Tensor keys, std::int64_t first) : keys_(std::move(keys)), first_(first) {}
  // Returns the keys of the first `layers` lanes of a stream, on the CPU.
  [[nodiscard]] static at::Tensor Keys(const RngStream& stream, std::int64_t layers);
  // That of layer `layer`, as DrawDropoutMask.
  [[nodiscard]] at::Tensor Draw(const at::Tensor& like, double p, std::uint64_t layer) const;

 private:
  std::optional<RowStream> rows_;  // or:
  at::Tensor keys_;
  std::int64_t first_ = 0;
};

}  // namespace retort::worker
