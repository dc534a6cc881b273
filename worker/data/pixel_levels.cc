#include "worker/data/pixel_levels.h"

#include <ATen/ops/empty.h>

#include <array>
#include <cstring>
#include <numeric>

#include "experiments/base/status.h"
#include "worker/tensors/vector_clones.h"

namespace retort::worker {
namespace {

// A few operations for as many pixels as a register holds; a table would need a load for each.
RETORT_VECTOR_CLONES void FillLinear(const std::uint8_t* __restrict levels, std::int64_t count, double factor,
                                     double offset, float* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(static_cast<double>(levels[i]) * factor + offset);
}

}  // namespace

PixelLevels::PixelLevels(std::int64_t channels, const PixelScale& scale) {
  RETORT_CHECK(static_cast<std::int64_t>(scale.mean.size()) == channels && scale.std.size() == scale.mean.size());
  std::array<std::uint8_t, 256> levels;
  std::iota(levels.begin(), levels.end(), std::uint8_t{0});
  table_ = at::empty({channels, 256}, at::kFloat);
  float* table = table_.mutable_data_ptr<float>();
  for (std::size_t c = 0; c < scale.mean.size(); ++c, table += 256) {
    for (std::size_t level = 0; level < levels.size(); ++level)
      table[level] = static_cast<float>((static_cast<double>(level) / 255.0 - scale.mean[c]) / scale.std[c]);
    Channel channel{1 / (255 * scale.std[c]), -scale.mean[c] / scale.std[c], false};
    std::array<float, 256> linear;
    FillLinear(levels.data(), 256, channel.factor, channel.offset, linear.data());
    channel.linear = std::memcmp(linear.data(), table, sizeof linear) == 0;
    channels_.push_back(channel);
  }
}

void PixelLevels::Normalise(const std::uint8_t* planes, std::int64_t plane, float* out) const {
  const float* table = table_.const_data_ptr<float>();
  for (const Channel& channel : channels_) {
    if (channel.linear)
      FillLinear(planes, plane, channel.factor, channel.offset, out);
    else
      for (std::int64_t i = 0; i < plane; ++i) out[i] = table[planes[i]];
    table += 256;
    planes += plane;
    out += plane;
  }
}

}  // namespace retort::worker
