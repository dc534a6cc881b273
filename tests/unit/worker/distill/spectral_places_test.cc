#include "worker/distill/similarity_graph.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/base/rng_stream.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

class SpectralPlacesTest : public ::testing::Test {
 protected:
  at::Tensor others_ = DrawNormalRows(30, 5, RngStream(1)), basis_ = DrawNormalRows(30, 3, RngStream(2));
  at::Tensor features_ = DrawNormalRows(8, 5, RngStream(3));
};

// The three nearest by cosine, written out.
TEST_F(SpectralPlacesTest, APlaceIsTheWeightedMeanOfTheNearest) {
  const at::Tensor places = ExtendSpectralEmbedding(features_, others_, basis_, 3);
  for (std::int64_t row = 0; row < features_.size(0); ++row) {
    const at::Tensor cosines =
        at::matmul(others_, features_[row]) / (others_.norm(2, at::IntArrayRef{1}) * features_[row].norm());
    const auto [nearest, index] = cosines.topk(3);
    const at::Tensor mean = at::matmul(((nearest - 1) * 20).exp(), basis_.index_select(0, index));
    EXPECT_TRUE(at::allclose(places[row], mean / mean.norm(), 1e-4, 1e-5)) << row;
  }
}

TEST_F(SpectralPlacesTest, APlaceHasNormOneAndDependsOnItsOwnRowAlone) {
  const at::Tensor places = ExtendSpectralEmbedding(features_, others_, basis_, 5);
  EXPECT_TRUE(at::allclose(places.norm(2, at::IntArrayRef{1}), at::ones({8}), 1e-5, 1e-6));
  at::Tensor changed = features_.clone();
  changed[2] = 100;
  const at::Tensor after = ExtendSpectralEmbedding(changed, others_, basis_, 5);
  for (std::int64_t row = 0; row < 8; ++row) {
    EXPECT_EQ(at::allclose(after[row], places[row], 1e-6, 1e-7), row != 2) << row;
  }
  EXPECT_TRUE(at::allclose(ExtendSpectralEmbedding(features_ * 7, others_, basis_, 5), places, 1e-4, 1e-5))
      << "length tells nothing";
}

TEST_F(SpectralPlacesTest, RowsOfZerosLieNowhereAndAFewOthersAllCount) {
  features_[1].zero_();
  const at::Tensor places = ExtendSpectralEmbedding(features_, others_.narrow(0, 0, 2), basis_.narrow(0, 0, 2), 1000);
  EXPECT_EQ(places[1].abs().max().item<float>(), 0);
  EXPECT_NEAR(places[0].norm().item<float>(), 1, 1e-5);
}

TEST_F(SpectralPlacesTest, WhatIsNotFiniteStaysInItsRow) {
  features_[4][0] = std::nan("");
  const at::Tensor places = ExtendSpectralEmbedding(features_, others_, basis_, 5);
  const at::Tensor others = at::cat({places.slice(0, 0, 4), places.slice(0, 5)});
  EXPECT_TRUE(at::isfinite(others).all().item<bool>());
}

}  // namespace
}  // namespace retort::worker
