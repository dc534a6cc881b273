#include "worker/data/split_overlap.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace retort::worker {
namespace {

TEST(SplitsShare, APrivatePictureInAnotherSplitIsSeenWhicheverItIs) {
  std::vector<std::string> images;
  for (int i = 0; i < 900; ++i) images.push_back("picture " + std::to_string(i));
  SplitRows rows;
  for (int i = 0; i < 600; ++i) rows.train.push_back(899 - i);
  for (int i = 0; i < 200; ++i) rows.public_split.push_back(i);
  for (int i = 200; i < 300; ++i) rows.test.push_back(i);
  const auto share = [&] {
    return SplitsShare(rows, [&](std::int64_t row) { return std::string_view(images[static_cast<std::size_t>(row)]); });
  };
  EXPECT_FALSE(share());
  for (const std::size_t shown : {0U, 199U, 200U, 299U})
    for (const std::size_t hidden : {300U, 555U, 899U}) {
      const std::string kept = std::exchange(images[shown], images[hidden]);
      EXPECT_TRUE(share()) << shown << " is " << hidden;
      images[shown] = kept;
    }
  images[0] = images[250];
  images[300] = images[301];
  EXPECT_FALSE(share()) << "pictures that stand twice in what is shown, or in what is private";
  images[5] = images[400] = "";
  EXPECT_FALSE(share()) << "pictures that are not there are no ones";
}

TEST(SplitsShare, ValidationPicturesArePrivateAsWell) {
  const std::vector<std::string> images = {"train", "validation", "test", "validation"};
  const auto image = [&](std::int64_t row) { return std::string_view(images[static_cast<std::size_t>(row)]); };
  SplitRows rows;
  rows.train = {0};
  rows.validation = {1};
  rows.test = {2};
  EXPECT_FALSE(SplitsShare(rows, image));
  rows.test = {2, 3};
  EXPECT_TRUE(SplitsShare(rows, image));
}

TEST(SplitsShare, PlacesInTwoPartsAreSeen) {
  EXPECT_TRUE(AreApart({3, 1, 2}, {0, 5, 4}));
  EXPECT_FALSE(AreApart({3, 1, 2}, {0, 2}));
  EXPECT_TRUE(AreApart({}, {0}));
}

}  // namespace
}  // namespace retort::worker
