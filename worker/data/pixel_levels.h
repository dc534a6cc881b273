// Normalises bytes of images to the numbers that networks take.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/methods/data_spec.h"

namespace retort::worker {

// (level / 255 - mean) / std of each channel, computed in double and rounded to f32. Immutable.
class PixelLevels {
 public:
  // `scale` has a mean and a standard deviation for each of the channels.
  PixelLevels(std::int64_t channels, const PixelScale& scale);

  // A image's planes one after another: `planes` and `out` [channels, plane].
  void Normalise(const std::uint8_t* planes, std::int64_t plane, float* out) const;
  // f32 [channels, 256] on the CPU: the bits that Normalise gives.
  [[nodiscard]] const at::Tensor& Table() const { return table_; }

 private:
  struct Channel {
    double factor, offset;
    bool linear;  // level * factor + offset rounds to the table's bits at every level
  };
  std::vector<Channel> channels_;
  at::Tensor table_;
};

}  // namespace retort::worker
