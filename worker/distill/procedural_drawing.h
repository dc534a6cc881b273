// How each kind of procedural picture is drawn. Private to procedural_pictures.cc and its tests.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/rng_stream.h"
#include "worker/rng_streams.h"

namespace retort::worker::drawing {

// One random number after the other.
class Numbers {
 public:
  explicit Numbers(RngStream stream) : stream_(stream) {}
  double Uniform(double low, double high) { return low + (high - low) * stream_.Uniform(next_++); }
  std::int64_t Below(std::int64_t bound) { return stream_.Below(next_++, bound); }
  double Normal() {
    next_ += 2;
    return NormalPair(next_ - 2, stream_).first;
  }

 private:
  RngStream stream_;
  std::uint64_t next_ = 0;
};

// Zeros at first, f32 [channels, side, side]; not owned.
struct Canvas {
  float* pixels;
  std::int64_t channels, side;
};

void Strokes(Numbers numbers, Canvas canvas);
void Blobs(Numbers numbers, Canvas canvas);
void DeadLeaves(Numbers numbers, Canvas canvas);

// f32 [count, channels, side, side]; picture i from the lane of row i.
[[nodiscard]] at::Tensor PinkNoise(std::int64_t count, std::int64_t channels, std::int64_t side,
                                   const RowStream& rows);

}  // namespace retort::worker::drawing
