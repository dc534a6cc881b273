// Examples are known again by what they show, and by nothing that a stranger could use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "storage/datasets/mark_store.h"
#include "storage/images/png_grid.h"
#include "tests/unit/storage/datasets/data_fixtures.h"

namespace retort::storage {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryDirectory;

constexpr std::int64_t kSide = 4;
constexpr std::size_t kSize = kSide * kSide;

// Image i of a set, that no other number has.
std::vector<std::uint8_t> MakeChart(int i) {
  std::vector<std::uint8_t> image(kSize, static_cast<std::uint8_t>(i));
  image[0] = 200;
  return image;
}

std::string Big(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

// IDX files of these images as the t10k pair, all labelled 1, and an inspected spec whose first two are private.
DataSpec Idx(const std::string& folder, const std::vector<int>& pictures) {
  const auto count = static_cast<std::uint32_t>(pictures.size());
  std::string images = Big(0x803) + Big(count) + Big(kSide) + Big(kSide);
  for (const int i : pictures)
    for (const std::uint8_t level : MakeChart(i)) images += static_cast<char>(level);
  Write(folder + "/t10k-images-idx3-ubyte", images);
  Write(folder + "/t10k-labels-idx1-ubyte", Big(0x801) + Big(count) + std::string(count, 1));
  DataSpec data = SpecFor("idx", folder);
  data.split.train = {0, 2};
  data.split.test = {2, static_cast<std::int64_t>(count)};
  EXPECT_TRUE(InspectData(PosixEnv(), data, {}).ok());
  return data;
}

SplitDigests Digests(const DataSpec& data, const DigestOptions& options = {}) {
  Result<SplitDigests> digests = ComputeSplitDigests(PosixEnv(), data, options);
  EXPECT_TRUE(digests.ok()) << digests.status().message();
  std::sort(digests->hidden.begin(), digests->hidden.end());
  return *std::move(digests);
}

TEST(ExampleMarks, APictureIsTheSameWhereverItStandsAndWhateverItsSet) {
  TemporaryDirectory folder;
  const SplitDigests first = Digests(Idx(folder / "a", {7, 8, 1, 2}));
  EXPECT_EQ(Digests(Idx(folder / "b", {8, 7, 1, 2, 3})).hidden, first.hidden);
  EXPECT_NE(Digests(Idx(folder / "c", {8, 6, 1, 2})).hidden, first.hidden);
  EXPECT_EQ(first.shown.size(), 2U);
  EXPECT_EQ(first.shown[0], ComputeImageDigest(1, kSide, kSide, MakeChart(1).data()));
}

TEST(ExampleMarks, ShapeAndColourDifferButGreyAsColourDoesNot) {
  const std::vector<std::uint8_t> grey = MakeChart(5);
  const ExampleDigest digest = ComputeImageDigest(1, kSide, kSide, grey.data());
  EXPECT_NE(ComputeImageDigest(1, 2, 8, grey.data()), digest);
  std::vector<std::uint8_t> colour;
  for (int c = 0; c < 3; ++c) colour.insert(colour.end(), grey.begin(), grey.end());
  EXPECT_EQ(ComputeImageDigest(3, kSide, kSide, colour.data()), digest);
  ++colour.back();
  EXPECT_NE(ComputeImageDigest(3, kSide, kSide, colour.data()), digest);
}

// A folder a class; b/2.png is no image.
DataSpec Pngs(const std::string& folder) {
  for (int i = 0; i < 2; ++i) {
    const std::vector<std::uint8_t> image = MakeChart(7 + i);
    TensorBlob blob{"picture", DType::u8, {1, 1, kSide, kSide}, {}};
    blob.bytes.assign(image.begin(), image.end());
    Write(folder + "/a/" + std::to_string(i) + ".png", EncodePngGrid(blob).value());
  }
  Write(folder + "/b/2.png", "no picture");
  DataSpec data = SpecFor("pictures", folder);
  data.split.train = {0, 2};
  data.split.test = {2, 3};
  data.preprocessing.crop = 2;
  data.preprocessing.on_error = OnError::skip_and_count;
  return data;
}

TEST(ExampleMarks, APictureInAFileOfItsOwnIsTheSame) {
  TemporaryDirectory folder;
  const DataSpec pictures = Pngs(folder / "pngs");
  const SplitDigests digests = Digests(pictures);
  EXPECT_EQ(digests.hidden, Digests(Idx(folder / "idx", {7, 8, 1})).hidden)
      << "as they are stored, not as they are cut";
  EXPECT_EQ(digests.shown.at(0), ComputeUndecodableDigest("no picture"));
}

TEST(ExampleMarks, PicturesAreDecodedOnceAndADamagedCacheIsMadeAnew) {
  TemporaryDirectory folder;
  const DataSpec pictures = Pngs(folder / "pngs");
  DigestOptions options;
  options.cache.folder = folder / "cache";
  options.may_decode = false;
  EXPECT_EQ(ComputeSplitDigests(PosixEnv(), pictures, options).status().code(), StatusCode::cancelled);
  options.may_decode = true;
  options.threads = 2;
  const SplitDigests digests = Digests(pictures, options);
  options.may_decode = false;
  EXPECT_EQ(Digests(pictures, options).hidden, digests.hidden);
  for (const auto& file : std::filesystem::directory_iterator(options.cache.folder)) {
    std::string bytes = Bytes(file.path());
    bytes[30] = static_cast<char>(bytes[30] ^ 1);
    Write(file.path(), bytes);
  }
  EXPECT_EQ(ComputeSplitDigests(PosixEnv(), pictures, options).status().code(), StatusCode::cancelled);
  options.may_decode = true;
  EXPECT_EQ(Digests(pictures, options).hidden, digests.hidden);
}

TEST(ExampleMarks, ValidationExamplesArePrivate) {
  TemporaryDirectory folder;
  DataSpec data = Idx(folder / "a", {7, 8, 1, 2});
  const SplitDigests before = Digests(data);
  data.split.validation = {2, 3};
  data.split.test = {3, 4};
  const SplitDigests digests = Digests(data);
  EXPECT_EQ(digests.hidden.size(), before.hidden.size() + 1);
  const auto apart = ComputeImageDigest(1, kSide, kSide, MakeChart(1).data());
  EXPECT_NE(std::find(digests.hidden.begin(), digests.hidden.end(), apart), digests.hidden.end());
  EXPECT_EQ(std::find(digests.shown.begin(), digests.shown.end(), apart), digests.shown.end());
}

class MarkStore : public ::testing::Test {
 protected:
  DataMarks Made(const MarkKey& key, char digest, const std::vector<int>& pictures) const {
    SplitDigests digests;
    for (const int i : pictures) digests.hidden.push_back(ComputeImageDigest(1, kSide, kSide, MakeChart(i).data()));
    return MakeMarks(key, std::string(64, digest), DataSpec(), digests);
  }
  [[nodiscard]] std::string Key() const { return GetMarksFolder(root_.path()) + "/key"; }
  [[nodiscard]] std::string Trouble() const { return FindMarkKey(PosixEnv(), root_.path()).status().message(); }

  TemporaryDirectory root_;
};

TEST_F(MarkStore, KeepsWhatItWasToldAndCountsEachExampleOnce) {
  EXPECT_FALSE(FindMarkKey(PosixEnv(), root_.path())->has_value());
  const MarkKey key = OpenMarkKey(PosixEnv(), root_.path()).value();
  EXPECT_EQ(OpenMarkKey(PosixEnv(), root_.path())->Name(), key.Name());
  ASSERT_TRUE(StoreMarks(PosixEnv(), root_.path(), key, Made(key, 'a', {1, 2, 2, 3})).ok());
  ASSERT_TRUE(StoreMarks(PosixEnv(), root_.path(), key, Made(key, 'b', {3, 4, 5, 1})).ok());
  const RootMarks marks = ReadMarks(PosixEnv(), root_.path()).value();
  EXPECT_EQ(marks.root, key.Name());
  ASSERT_EQ(marks.sets.size(), 2U);
  EXPECT_EQ(marks.sets[0].data, std::string(64, 'a'));
  EXPECT_EQ(marks.sets[0].hidden.size(), 3U);
  EXPECT_EQ(CountShared(marks.sets[0].hidden, marks.sets[1].hidden), 2);
}

TEST_F(MarkStore, TheKeyIsSecretAndMakesTheMarks) {
  const MarkKey key = OpenMarkKey(PosixEnv(), root_.path()).value();
  struct stat status {};
  ASSERT_EQ(::stat(Key().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const MarkKey other = MarkKey::Draw();
  EXPECT_NE(other.Name(), key.Name());
  EXPECT_EQ(CountShared(Made(key, 'a', {1, 2}).hidden, Made(other, 'a', {1, 2}).hidden), 0);
}

TEST_F(MarkStore, WithoutItsKeyItSaysSo) {
  const MarkKey key = OpenMarkKey(PosixEnv(), root_.path()).value();
  ASSERT_TRUE(StoreMarks(PosixEnv(), root_.path(), key, Made(key, 'a', {1})).ok());
  Write(Key(), MarkKey::Draw().Bytes());
  EXPECT_THAT(Trouble(), HasSubstr("is not the one that the marks beside it were made with"));
  Write(Key(), key.Bytes().substr(1));
  EXPECT_THAT(Trouble(), HasSubstr("holds no whole key"));
  std::filesystem::remove(Key());
  EXPECT_THAT(Trouble(), HasSubstr("is gone"));
  EXPECT_FALSE(OpenMarkKey(PosixEnv(), root_.path()).ok()) << "no other is drawn in its place";
  std::filesystem::create_directory(Key());
  EXPECT_THAT(Trouble(), HasSubstr("cannot be read"));
}

TEST_F(MarkStore, EveryFlippedByteOfMarksIsSeen) {
  const MarkKey key = OpenMarkKey(PosixEnv(), root_.path()).value();
  const std::string whole = EncodeMarks(key.Name(), Made(key, 'a', {1, 2, 3}));
  std::string made_in;
  EXPECT_TRUE(DecodeMarks(whole, "marks", made_in).ok());
  EXPECT_EQ(made_in, key.Name());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string spoiled = whole;
    spoiled[i] = static_cast<char>(spoiled[i] ^ 0x10);
    EXPECT_FALSE(DecodeMarks(spoiled, "marks", made_in).ok()) << "byte " << i;
    EXPECT_FALSE(DecodeMarks(whole.substr(0, i), "marks", made_in).ok()) << "cut at " << i;
  }
  Write(GetMarksFolder(root_.path()) + "/x.marks", whole.substr(1));
  EXPECT_THAT(ReadMarks(PosixEnv(), root_.path()).status().message(), HasSubstr("x.marks' holds no whole marks"));
}

TEST_F(MarkStore, MarksOfAnotherRootAreNotTakenForItsOwn) {
  const MarkKey key = OpenMarkKey(PosixEnv(), root_.path()).value(), other = MarkKey::Draw();
  ASSERT_TRUE(StoreMarks(PosixEnv(), root_.path(), key, Made(key, 'a', {1})).ok());
  ASSERT_TRUE(StoreMarks(PosixEnv(), root_.path(), other, Made(other, 'b', {1})).ok());
  EXPECT_THAT(ReadMarks(PosixEnv(), root_.path()).status().message(), HasSubstr("belongs to another results root"));
}

TEST(SplitName, SaysWhichExamplesArePrivate) {
  DataSpec data;
  data.split.train = {0, 10};
  DataSpec other = data;
  EXPECT_EQ(SplitName(other), SplitName(data));
  other.split.shuffle = 1;
  EXPECT_NE(SplitName(other), SplitName(data));
  other = data;
  other.sensitive_classes = {1};
  EXPECT_NE(SplitName(other), SplitName(data));
  other = data;
  other.split.train_source.digest = std::string(64, 'a');
  EXPECT_NE(SplitName(other), SplitName(data));
  other = data;
  other.split.validation = {10, 12};
  EXPECT_NE(SplitName(other), SplitName(data));
  other = data;
  other.name = "another";
  other.path = "elsewhere";
  EXPECT_EQ(SplitName(other), SplitName(data));
}

}  // namespace
}  // namespace retort::storage
