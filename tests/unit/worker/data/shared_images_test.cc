#include "worker/data/split_overlap.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

Examples Drawn(std::int64_t count, std::uint64_t seed) {
  return {DrawUniformTensor({count, 1, 6, 6}, 1, RngStream(seed)), at::zeros({count}, at::kLong)};
}

TEST(SharedPictures, FindsTheFirstThatBothHoldWhateverItsLabel) {
  const Examples a = Drawn(30, 1);
  EXPECT_FALSE(FindFirstShared(a, Drawn(20, 2)).has_value());
  EXPECT_FALSE(FindFirstShared(a, {}).has_value());
  at::Tensor images = Drawn(20, 2).Range(0, 20).clone();
  images[7].copy_(a.Range(11, 1)[0]);
  images[15].copy_(a.Range(3, 1)[0]);
  const auto shared = FindFirstShared(a, {images, at::ones({20}, at::kLong)});
  ASSERT_TRUE(shared.has_value());
  EXPECT_EQ(shared->a, 11);
  EXPECT_EQ(shared->b, 7);
  images[7][0][5][5] += 1e-3F;
  EXPECT_EQ(FindFirstShared(a, {images, at::ones({20}, at::kLong)})->b, 15);
}

TEST(SharedPictures, PicturesThatAreNotThereAreNoOnes) {
  at::Tensor images = at::full({3, 1, 6, 6}, std::numeric_limits<float>::quiet_NaN());
  const Examples missing(images, at::zeros({3}, at::kLong));
  EXPECT_FALSE(FindFirstShared(missing, missing).has_value());
}

TEST(SharedPictures, APublicPictureThatIsPrivateTooIsNamed) {
  Dataset data;
  data.train = Drawn(9, 1);
  data.public_split = Drawn(5, 2);
  EXPECT_TRUE(RequireApart(data).ok());
  data.public_split = data.train.First(4);
  const Status refused = RequireApart(data);
  EXPECT_EQ(refused.code(), StatusCode::environment);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("Picture 0 of the public split is picture 0 of the private"));
}

TEST(SharedPictures, ATestPictureThatIsPrivateTooIsNamed) {
  Dataset data;
  data.train = Drawn(9, 1);
  data.test = Drawn(5, 2);
  EXPECT_TRUE(RequireTestApart(data).ok());
  data.test = data.train.First(4);
  const Status refused = RequireTestApart(data);
  EXPECT_EQ(refused.code(), StatusCode::environment);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("Picture 0 of the test split is picture 0 of the private"));
}

}  // namespace
}  // namespace retort::worker
