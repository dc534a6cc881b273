#include "worker/data/procedural_images.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

namespace retort::worker {
namespace {

constexpr std::array kKinds = {ProceduralKind::strokes, ProceduralKind::blobs, ProceduralKind::dead_leaves,
                               ProceduralKind::noise};

TEST(ProceduralPictures, AreOfTheShapeAskedForAndBetweenZeroAndOne) {
  for (const ProceduralKind kind : kKinds) {
    const at::Tensor images = DrawProceduralImages(kind, 5, 3, 20, RngStream(1));
    EXPECT_EQ(images.sizes(), (std::vector<std::int64_t>{5, 3, 20, 20}));
    EXPECT_GE(images.min().item<float>(), 0);
    EXPECT_LE(images.max().item<float>(), 1);
    EXPECT_GT(images.std().item<float>(), 0.05);
    EXPECT_EQ(DrawProceduralImages(kind, 0, 1, 28, RngStream(1)).size(0), 0);
  }
}

TEST(ProceduralPictures, APictureDependsOnItsLaneAlone) {
  for (const ProceduralKind kind : kKinds) {
    const at::Tensor few = DrawProceduralImages(kind, 3, 1, 28, RngStream(7));
    const at::Tensor many = DrawProceduralImages(kind, 40, 1, 28, RngStream(7));
    EXPECT_TRUE(at::equal(few, many.narrow(0, 0, 3)));
    EXPECT_FALSE(at::equal(many[0], many[1]));
    EXPECT_FALSE(at::equal(few, DrawProceduralImages(kind, 3, 1, 28, RngStream(8))));
  }
}

// A box of at most 18.5 pixels, and half a line of at most 1.6 and half a pixel on either side, in the middle of 28.
TEST(ProceduralPictures, StrokesFillACentredBoxWhateverTheSide) {
  for (const std::int64_t side : {28, 56}) {
    const at::Tensor images = DrawProceduralImages(ProceduralKind::strokes, 50, 1, side, RngStream(3));
    const double scale = static_cast<double>(side) / 28;
    for (std::int64_t i = 0; i < 50; ++i) {
      const at::Tensor lit = (images[i][0] > 0).nonzero().to(at::kDouble);
      const at::Tensor low = std::get<0>(lit.min(0)), high = std::get<0>(lit.max(0));
      const double size = (high - low).max().item<double>();
      EXPECT_GE(size, 15.5 * scale - 1);
      EXPECT_LE(size, (18.5 + 2 * 1.6) * scale + 1);
      EXPECT_LE(((high + low) / 2 - static_cast<double>(side - 1) / 2).abs().max().item<double>(), 1.0);
    }
  }
}

TEST(ProceduralPictures, BlobsEndAtTheirDisc) {
  const at::Tensor images = DrawProceduralImages(ProceduralKind::blobs, 50, 1, 28, RngStream(3));
  for (const std::int64_t y : {0, 27})
    for (const std::int64_t x : {0, 27}) EXPECT_LT(images.select(2, y).select(2, x).max().item<float>(), 0.01);
}

TEST(ProceduralPictures, DeadLeavesAreOfFewColoursThatHideEachOther) {
  const at::Tensor image = DrawProceduralImages(ProceduralKind::dead_leaves, 1, 3, 32, RngStream(3))[0];
  std::set<std::array<float, 3>> colours;
  for (std::int64_t y = 0; y < 32; ++y)
    for (std::int64_t x = 0; x < 32; ++x)
      colours.insert({image[0][y][x].item<float>(), image[1][y][x].item<float>(), image[2][y][x].item<float>()});
  EXPECT_GT(colours.size(), 5U);
  EXPECT_LE(colours.size(), 401U);
}

TEST(ProceduralPictures, NoiseIsOfOneMeanWithNeighboursAndColoursAlike) {
  const at::Tensor images = DrawProceduralImages(ProceduralKind::noise, 200, 3, 32, RngStream(3));
  EXPECT_NEAR(images.mean().item<float>(), 0.5, 0.01);
  const at::Tensor off = images - images.mean();
  const double energy = (off * off).mean().item<double>();
  const double beside = (off.narrow(3, 1, 31) * off.narrow(3, 0, 31)).mean().item<double>() / energy;
  const double across = (off.select(1, 0) * off.select(1, 1)).mean().item<double>() / energy;
  EXPECT_GT(beside, 0.3);
  EXPECT_GT(across, 0.3);
  EXPECT_LT(across, 0.9);
}

}  // namespace
}  // namespace retort::worker
