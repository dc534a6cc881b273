#include "worker/data/warping.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace retort::worker {
namespace {

constexpr double kQuarterTurn = 1.57079632679489661923;
const at::Tensor kBlack = at::tensor({-1.0F});

// One channel, values by rows.
at::Tensor Image(const std::vector<float>& values, std::int64_t height, std::int64_t width) {
  return at::tensor(values).reshape({1, 1, height, width});
}

at::Tensor MoveOnly(const at::Tensor& image, const AffineMove& move) { return WarpImages(image, move, {}, kBlack); }

const at::Tensor kNine = Image({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3);

TEST(Warping, AMoveOfNothingReturnsTheImage) {
  const at::Tensor images = at::randn({5, 3, 28, 28}), black = at::tensor({-1.0F, 0.5F, 2.0F});
  EXPECT_TRUE(WarpImages(images, {}, {}, black).equal(images));
  EXPECT_TRUE(WarpAtRandom(images, {0, 0, 0, 0, 0}, black, RngStream(1, Purpose::warps)).equal(images));
  const at::Tensor oblong = at::randn({2, 3, 9, 14});
  EXPECT_TRUE(WarpImages(oblong, {}, {}, black).equal(oblong));
}

TEST(Warping, ATranslationIsThatOfTheHand) {
  EXPECT_TRUE(MoveOnly(kNine, {0, 1, 0, 1, -1}).equal(Image({-1, -1, -1, 2, 3, -1, 5, 6, -1}, 3, 3)));
  // Half a pixel to the right is the mean of neighbours; black is half of what lies on the border.
  EXPECT_TRUE(MoveOnly(kNine, {0, 1, 0, 0, 0.5}).equal(Image({0, 1.5, 2.5, 1.5, 4.5, 5.5, 3, 7.5, 8.5}, 3, 3)));
}

TEST(Warping, AQuarterTurnIsClockwise) {
  const at::Tensor turned = MoveOnly(kNine, {kQuarterTurn});
  EXPECT_TRUE(at::allclose(turned, Image({7, 4, 1, 8, 5, 2, 9, 6, 3}, 3, 3), 0, 1e-5)) << turned;
  const at::Tensor even = at::randn({1, 1, 6, 6});
  EXPECT_TRUE(at::allclose(MoveOnly(even, {kQuarterTurn}), even.rot90(-1, {2, 3}), 0, 1e-5));
}

TEST(Warping, ScaleAndShearAreThoseOfTheHand) {
  // Twice as large about the centre: pixel x is taken from 1 + (x - 1) / 2.
  EXPECT_TRUE(MoveOnly(kNine, {0, 2}).equal(Image({3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7}, 3, 3)));
  // x += y about the centre: the upper row goes left by one, the lower one right.
  EXPECT_TRUE(MoveOnly(kNine, {0, 1, 1}).equal(Image({2, 3, -1, 4, 5, 6, -1, 7, 8}, 3, 3)));
  // Scaled and turned, then moved: the centre goes where the move says.
  const at::Tensor all =
      MoveOnly(at::full({1, 1, 9, 9}, -1.0F)
                   .index_put({at::tensor(0), at::tensor(0), at::tensor(4), at::tensor(4)}, at::tensor(5.0F)),
               {0.7, 1.1, 0.3, 2, -1});
  EXPECT_NEAR(all[0][0][6][3].item<float>(), 5, 1e-4);
}

TEST(Warping, WhatMovesInIsTheBlackOfItsChannel) {
  const at::Tensor images = at::ones({1, 3, 8, 8}), black = at::tensor({-1.0F, 0.25F, -3.0F});
  for (const AffineMove& move :
       {AffineMove{0, 1, 0, 8, 0}, AffineMove{0, 1, 0, 0, -8}, AffineMove{0, 1, 0, 1e9, 1e9}}) {
    const at::Tensor out = WarpImages(images, move, {}, black);
    EXPECT_TRUE(out.equal(black.view({1, 3, 1, 1}).expand_as(out)));
  }
  const at::Tensor turned = WarpImages(images, {kQuarterTurn / 2}, {}, black);
  for (std::int64_t c = 0; c < 3; ++c) {
    EXPECT_EQ(turned[0][c][0][0].item<float>(), black[c].item<float>());
    EXPECT_EQ(turned[0][c][4][4].item<float>(), 1);
  }
}

// A pixel every node: 4 x 4 images have theirs at 0, 1, 2 and 3, which are the grid's 1 to 4.
TEST(Warping, AFieldIsItsNodesAtTheNodesAndSmoothBetween) {
  DisplacementField field;
  field.right[static_cast<std::size_t>(1 * kFieldNodes + 2)] = 1;    // of pixel (0, 1)
  field.down[static_cast<std::size_t>(3 * kFieldNodes + 4)] = -0.5;  // of pixel (2, 3)
  at::Tensor want = at::arange(16, at::kFloat).reshape({1, 1, 4, 4});
  const at::Tensor image = want.clone();
  want[0][0][0][1] = 2;  // from its right neighbour
  want[0][0][2][3] = 9;  // between 7 and 11
  EXPECT_TRUE(WarpImages(image, {}, field, kBlack).equal(want));
  // Constant fields are translations at every pixel, also between nodes.
  DisplacementField all;
  all.down.fill(2);
  const at::Tensor large = at::randn({1, 1, 28, 28});
  EXPECT_TRUE(at::allclose(WarpImages(large, {}, all, kBlack), MoveOnly(large, {0, 1, 0, -2, 0}), 0, 1e-4));
}

TEST(Warping, ARowIsTheSameAloneAndAmongOthers) {
  const at::Tensor images = at::randn({70, 2, 28, 20}), black = at::tensor({-1.0F, 2.0F});
  for (const double field : {0.0, kElasticField}) {
    const WarpRanges ranges{15, 0.15, 0.15, 2, field};
    const RngStream stream(3, Purpose::warps, 9);
    const at::Tensor whole = WarpAtRandom(images, ranges, black, stream);
    for (const std::int64_t row : {0, 1, 33, 69})
      EXPECT_TRUE(WarpAtRandom(images.narrow(0, row, 1), ranges, black, {stream, row}).equal(whole.narrow(0, row, 1)));
    EXPECT_FALSE(WarpAtRandom(images, ranges, black, RngStream(3, Purpose::warps, 10)).equal(whole));
    // Equal images at different places of a batch are warped differently.
    const at::Tensor equal = WarpAtRandom(images.narrow(0, 0, 1).expand({2, 2, 28, 20}), ranges, black, stream);
    EXPECT_FALSE(equal[0].equal(equal[1]));
  }
}

struct Moments {
  double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
  std::int64_t n = 0;
  void Add(double value) {
    sum += value, squares += value * value, ++n;
    least = std::min(least, value), most = std::max(most, value);
  }
  [[nodiscard]] double mean() const { return sum / static_cast<double>(n); }
  [[nodiscard]] double deviation() const { return std::sqrt(squares / static_cast<double>(n) - mean() * mean()); }
};

TEST(Warping, MovesAreUniformWithinTheirRanges) {
  constexpr int kDraws = 20'000;
  Moments angle, scale, shear, down, right;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const AffineMove move = DrawAffineMove({15, 0.15, 0.15, 3, 0}, RngStream(8, Purpose::warps).Lane(i));
    angle.Add(move.angle), scale.Add(move.scale), shear.Add(move.shear), down.Add(move.down), right.Add(move.right);
  }
  const auto uniform = [](const Moments& seen, double centre, double most) {
    // Five standard errors of a mean of so many.
    EXPECT_NEAR(seen.mean(), centre, 5 * most / std::sqrt(3.0 * kDraws));
    EXPECT_NEAR(seen.deviation(), most / std::sqrt(3.0), 0.02 * most);
    EXPECT_TRUE(seen.least >= centre - most && seen.least < centre - 0.99 * most) << seen.least;
    EXPECT_TRUE(seen.most <= centre + most && seen.most > centre + 0.99 * most) << seen.most;
  };
  uniform(angle, 0, kQuarterTurn / 6);
  uniform(scale, 1, 0.15);
  uniform(shear, 0, 0.15);
  uniform(down, 0, 3);
  uniform(right, 0, 3);
}

TEST(Warping, NodesOfAFieldAreNormalByTheSideOfTheImage) {
  Moments down, right;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const DisplacementField field = DrawDisplacementField(kElasticField, 28, 56, RngStream(8, Purpose::warps).Lane(i));
    for (const float value : field.down) down.Add(value);
    for (const float value : field.right) right.Add(value);
  }
  EXPECT_NEAR(down.mean(), 0, 0.04);
  EXPECT_NEAR(right.mean(), 0, 0.08);
  EXPECT_NEAR(down.deviation(), 1.2, 0.03);
  EXPECT_NEAR(right.deviation(), 2.4, 0.06);
}

}  // namespace
}  // namespace retort::worker
