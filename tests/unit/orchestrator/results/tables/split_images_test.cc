// Images of every split, from the project's own digits and from images in files.
#include "orchestrator/results/tables/split_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/storage/datasets/data_fixtures.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;

DataSpec Digits() {
  DataSpec data = storage::SpecFor("idx", std::string(RETORT_SOURCE_DIR) + "/experiments/data/mnist10k");
  data.split.train = {0, 1000};
  data.split.test = {9000, 9010};
  EXPECT_TRUE(storage::InspectData(storage::PosixEnv(), data, {}).ok());
  return data;
}

// One image of the set, as its files hold it.
std::vector<std::uint8_t> Example(const DataSpec& data, std::int64_t index) {
  const auto store = storage::OpenExamples(storage::PosixEnv(), data).value();
  const auto begin = store->pixels().begin() + index * 784;
  return {begin, begin + 784};
}

std::vector<std::uint8_t> Picture(const SplitImages& split, std::int64_t number, std::int64_t size = 784) {
  const auto begin = split.pixels.begin() + number * size;
  return {begin, begin + size};
}

TEST(ReadSplitImages, TakesPicturesEvenlySpreadOverEachSplit) {
  const DataSpec data = Digits();
  const Result<DataImages> images = ReadSplitImages(storage::PosixEnv(), data, 20);
  ASSERT_TRUE(images.ok()) << images.status().message();
  EXPECT_EQ(images->channels, 1);
  EXPECT_EQ(images->height, 28);
  EXPECT_EQ(images->width, 28);
  ASSERT_EQ(images->splits.size(), 2U) << "the public split holds nothing";
  EXPECT_EQ(images->splits[0].split, "train");
  EXPECT_EQ(images->splits[0].count, 20);
  EXPECT_EQ(images->splits[1].split, "test");
  EXPECT_EQ(images->splits[1].count, 10) << "all that there are";
  EXPECT_EQ(Picture(images->splits[0], 0), Example(data, 0));
  EXPECT_EQ(Picture(images->splits[0], 19), Example(data, 950));
  EXPECT_EQ(Picture(images->splits[1], 9), Example(data, 9009));
}

TEST(ReadSplitImages, FollowsThePermutationOfTheSplit) {
  DataSpec data = Digits();
  data.split.shuffle = 5;
  const auto store = storage::OpenExamples(storage::PosixEnv(), data).value();
  const auto places = storage::LocateSplits(storage::PosixEnv(), data, *store).value();
  const std::int64_t first = storage::ListIndices(places.train, 5).front();
  ASSERT_NE(first, 0);
  EXPECT_EQ(Picture(ReadSplitImages(storage::PosixEnv(), data, 1)->splits[0], 0), Example(data, first));
}

TEST(ReadSplitImages, DecodesAndPreparesPicturesInFiles) {
  DataSpec data = storage::SpecFor("pictures", storage::Fixture("pictures.tar"));
  data.preprocessing = {.height = 6, .width = 4};
  data.split.train_source.fraction = 0.5;
  data.split.test_source.fraction = 0.5;
  const Status inspected = storage::InspectData(storage::PosixEnv(), data, {});
  ASSERT_TRUE(inspected.ok()) << inspected.message();
  const Result<DataImages> images = ReadSplitImages(storage::PosixEnv(), data, 2);
  ASSERT_TRUE(images.ok()) << images.status().message();
  EXPECT_EQ(images->channels, 3);
  EXPECT_EQ(images->height, 6);
  EXPECT_EQ(images->width, 4);
  for (const SplitImages& split : images->splits)
    EXPECT_EQ(split.pixels.size(), static_cast<std::size_t>(split.count) * 72);
}

TEST(ReadSplitImages, ABrokenPictureIsLeftOutOnlyWhereTrialsLeaveItOut) {
  const retort::testing::TemporaryDirectory folder;
  const std::string whole = storage::Bytes(std::string(RETORT_SOURCE_DIR) + "/tests/fixtures/pictures/rgb.jpg");
  for (const char* name : {"a/0.jpg", "a/1.jpg", "b/0.jpg"}) storage::Write(folder.path() + "/" + name, whole);
  storage::Write(folder.path() + "/b/1.jpg", whole.substr(0, whole.size() / 2));
  DataSpec data = storage::SpecFor("pictures", folder.path());
  data.preprocessing = {.height = 6, .width = 4};
  data.split.train_source.fraction = 0.5;
  data.split.test_source.fraction = 0.5;
  ASSERT_TRUE(storage::InspectData(storage::PosixEnv(), data, {}).ok());
  EXPECT_EQ(ReadSplitImages(storage::PosixEnv(), data, 9).status().code(), StatusCode::damage);
  data.preprocessing.on_error = OnError::skip_and_count;
  const Result<DataImages> images = ReadSplitImages(storage::PosixEnv(), data, 9);
  ASSERT_TRUE(images.ok()) << images.status().message();
  ASSERT_EQ(images->splits.size(), 2U);
  EXPECT_EQ(images->splits[0].count, 2);
  EXPECT_EQ(images->splits[1].count, 1);
}

TEST(ReadSplitImages, ADataSetThatIsNotThereIsNamed) {
  DataSpec data = Digits();
  data.path = "/nowhere/at-all";
  const Status status = ReadSplitImages(storage::PosixEnv(), data, 2).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/at-all does not exist"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
