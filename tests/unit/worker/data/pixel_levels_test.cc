#include "worker/data/pixel_levels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace retort::worker {
namespace {

// Every level of every channel, computed by LibTorch in double.
at::Tensor Expected(const PixelScale& scale) {
  const auto channels = static_cast<std::int64_t>(scale.mean.size());
  const at::Tensor levels = at::arange(256, at::kDouble).view({1, 256}) / 255.0;
  const auto of = [&](const std::vector<double>& values) {
    return at::tensor(values, at::kDouble).view({channels, 1});
  };
  return ((levels - of(scale.mean)) / of(scale.std)).to(at::kFloat);
}

at::Tensor Normalised(const PixelLevels& levels, const at::Tensor& planes) {
  at::Tensor out = at::full(planes.sizes(), 1e9, at::kFloat);
  levels.Normalise(planes.const_data_ptr<std::uint8_t>(), planes.size(1), out.mutable_data_ptr<float>());
  return out;
}

bool SameBits(const at::Tensor& a, const at::Tensor& b) { return a.view(at::kInt).equal(b.view(at::kInt)); }

const PixelScale kScales[] = {
    {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {{0.1307}, {0.3081}},
    {{0, 0.5}, {1, 0.5}},
    // A channel's mean is a level: there a factor and an offset leave a rest where the difference is zero.
    {{127 / 255.0, 0.3, 51 / 255.0, 3 / 255.0}, {0.2, 0.7, 0.31, 1e-3}},
    {{1e-9, -40}, {1e-5, 7e5}},
};

TEST(PixelLevels, AreRoundedOnceFromDouble) {
  for (const PixelScale& scale : kScales) {
    const auto channels = static_cast<std::int64_t>(scale.mean.size());
    const PixelLevels levels(channels, scale);
    const at::Tensor every = at::arange(256, at::kByte).repeat({channels, 1});
    EXPECT_TRUE(SameBits(levels.Table(), Expected(scale)));
    EXPECT_TRUE(SameBits(Normalised(levels, every), Expected(scale)));
  }
}

TEST(PixelLevels, OfPlanesOfEverySizeAreThoseOfTheTable) {
  for (const PixelScale& scale : kScales) {
    const auto channels = static_cast<std::int64_t>(scale.mean.size());
    const PixelLevels levels(channels, scale);
    for (std::int64_t plane = 1; plane < 70; ++plane) {
      const at::Tensor planes = at::randint(0, 256, {channels, plane}, at::kByte);
      EXPECT_TRUE(SameBits(Normalised(levels, planes), levels.Table().gather(1, planes.to(at::kLong))));
    }
  }
}

}  // namespace
}  // namespace retort::worker
