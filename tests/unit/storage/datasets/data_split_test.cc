#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/storage/datasets/data_fixtures.h"

namespace retort::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;

DataSpec Cifar() { return SpecFor("cifar10", Fixture("cifar10-binary")); }

TEST(SplitOrder, ZeroIsFileOrder) {
  const std::vector<std::int64_t> want = {0, 1, 2, 3};
  EXPECT_EQ(SplitOrder(4, 0), want);
  EXPECT_NE(SplitOrder(100, 1), SplitOrder(100, 2));
  EXPECT_EQ(SplitOrder(100, 1), SplitOrder(100, 1));
}

TEST(Split, SensitiveClassesAreCountedAsPrivate) {
  DataSpec data = Cifar();
  data.split.shuffle = 3;
  data.split.train = {0, 4};
  data.split.public_range = {4, 10};
  data.split.test = {10, 12};
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok());
  EXPECT_EQ(data.moved, 0);
  const auto store = OpenExamples(PosixEnv(), data).value();
  const auto before = LocateSplits(PosixEnv(), data, *store).value();
  const auto open = ListIndices(before.public_split, 3);
  const auto label = [&](std::int64_t index) { return store->labels()[static_cast<std::size_t>(index)]; };
  data.sensitive_classes = {label(open[1])};
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok());
  std::vector<std::int64_t> want = ListIndices(before.train, 3), rest;
  for (const std::int64_t index : open) (label(index) == label(open[1]) ? want : rest).push_back(index);
  EXPECT_EQ(data.moved, static_cast<std::int64_t>(6 - rest.size()));
  const auto places = LocateSplits(PosixEnv(), data, *store).value();
  EXPECT_EQ(ListIndices(places.train, 3), want);
  EXPECT_EQ(ListIndices(places.public_split, 3), rest);
  data.sensitive_classes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok());
  EXPECT_EQ(data.PublicExamples(), 0);
  EXPECT_TRUE(ListIndices(LocateSplits(PosixEnv(), data, *store).value().public_split, 3).empty());
}

TEST(Split, FractionsFollowOneAnother) {
  DataSpec data = Cifar();
  data.split.train_source.fraction = 0.5;
  data.split.public_source.fraction = 0.25;
  data.split.test_source.fraction = 0.25;
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok());
  EXPECT_EQ(data.split.train, (IndexRange{0, 6}));
  EXPECT_EQ(data.split.public_range, (IndexRange{6, 9}));
  EXPECT_EQ(data.split.test, (IndexRange{9, 12}));
}

TEST(Split, ListsMayHaveAMarkAndLineEndsOfAnySystem) {
  const TemporaryDirectory folder;
  DataSpec data = Cifar();
  data.split.train_source.list = folder.path() + "/train.txt";
  data.split.test_source.list = folder.path() + "/test.txt";
  Write(data.split.test_source.list, "3\r5\r");
  Write(data.split.train_source.list,
        "\xEF\xBB\xBF"
        "7\r\n1 # mine\r\n");
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok()) << InspectData(PosixEnv(), data, {}).message();
  const auto places = LocateSplits(PosixEnv(), data, *OpenExamples(PosixEnv(), data).value()).value();
  EXPECT_THAT(places.train.listed, ElementsAre(7, 1));
  EXPECT_THAT(places.test.listed, ElementsAre(3, 5));
}

TEST(Split, PartsAreThoseOfTheFormat) {
  DataSpec data = Cifar();
  data.split.train_source = {"train", "", "", 0, true};
  data.split.test_source = {"test", "", "", 0, true};
  data.split.test = {1, 0};
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok());
  const auto store = OpenExamples(PosixEnv(), data).value();
  const auto places = LocateSplits(PosixEnv(), data, *store);
  ASSERT_TRUE(places.ok()) << places.status().message();
  EXPECT_EQ(places->train.first, 0);
  EXPECT_EQ(places->train.range, (IndexRange{0, 10}));
  EXPECT_EQ(places->test.first, 10);
  EXPECT_EQ(places->test.count, 2);
  EXPECT_EQ(places->test.range, (IndexRange{1, 2}));
  EXPECT_EQ(places->public_split.range.size(), 0);
  data.split.test_source.open_end = false;
  data.split.test = {0, 3};
  EXPECT_THAT(InspectData(PosixEnv(), data, {}).message(), HasSubstr("takes [0:3] of part \"test\", which holds 2"));
  data.split.test_source.part = "validation";
  EXPECT_THAT(InspectData(PosixEnv(), data, {}).message(), HasSubstr("no part \"validation\"; it has train, test"));
}

TEST(Split, ListsNamePicturesOrIndices) {
  const TemporaryDirectory folder;
  DataSpec data = SpecFor("covidx", Fixture("covidx"));
  const auto list = [&](SplitSource& source, const char* name, const std::string& text) {
    Write(folder / name, text);
    source.list = folder / name;
  };
  list(data.split.train_source, "train.txt", "# private\ntrain/a.png\n");
  list(data.split.test_source, "test.txt", "2\r\n\n1 # the second\n");
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok()) << InspectData(PosixEnv(), data, {}).message();
  const auto store = OpenExamples(PosixEnv(), data).value();
  const auto places = LocateSplits(PosixEnv(), data, *store);
  EXPECT_THAT(places->train.listed, ElementsAre(0));
  EXPECT_THAT(places->test.listed, ElementsAre(2, 1));
  EXPECT_EQ(data.split.test, (IndexRange{0, 2}));
  list(data.split.test_source, "test.txt", "2\n");
  EXPECT_THAT(LocateSplits(PosixEnv(), data, *store).status().message(),
              HasSubstr("has changed since the trial was planned"));
  const auto problem = [&](const std::string& text) {
    list(data.split.test_source, "test.txt", text);
    return InspectData(PosixEnv(), data, {}).message();
  };
  EXPECT_THAT(problem("1\n3\n"), HasSubstr("test.txt:2: there is no example 3; the set has 0 to 2"));
  EXPECT_THAT(problem("none.png\n"), HasSubstr("test.txt:1: \"none.png\" is neither an index nor a picture"));
  EXPECT_THAT(problem("a.png\n"), HasSubstr("example 0 stands twice, or in another split too"));
  EXPECT_THAT(problem("# nothing\n"), HasSubstr("lists no example"));
}

TEST(Split, ClassesOfTheSetAreFilledInAndTooFewAreRefused) {
  DataSpec data = SpecFor("celeba", Fixture("celeba"), "hair");
  data.split.train = {0, 2};
  data.split.test = {2, 4};
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok());
  EXPECT_EQ(data.classes, 3);
  EXPECT_EQ(data.channels, 3);
  EXPECT_EQ(data.height, 10);
  data.classes = 2;
  EXPECT_THAT(InspectData(PosixEnv(), data, {}).message(), HasSubstr(".classes = 2, and example"));
}

TEST(Split, ChangedFilesAreRefused) {
  DataSpec data = Cifar();
  data.split.train = {0, 10};
  data.split.test = {10, 12};
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}).ok());
  const auto store = OpenExamples(PosixEnv(), data).value();
  EXPECT_TRUE(CheckUnchanged(PosixEnv(), data, *store, {}).ok());
  data.digest[0] = data.digest[0] == 'a' ? 'b' : 'a';
  EXPECT_THAT(CheckUnchanged(PosixEnv(), data, *store, {}).message(),
              HasSubstr("have changed since the trial was planned"));
}

}  // namespace
}  // namespace retort::storage
