#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "storage/images/prepared_image.h"
#include "tests/testing/temporary_directory.h"
#include "worker/data/augmentation.h"
#include "worker/data/encoded_splits.h"

namespace retort::worker {
namespace {

std::vector<storage::TreeFile> Numbered(std::int64_t count) {
  std::vector<storage::TreeFile> files;
  for (std::int64_t i = 0; i < count; ++i) {
    storage::TreeFile file;
    file.name = std::to_string(100 + i);
    file.offset = static_cast<std::uint64_t>(i);
    files.push_back(file);
  }
  return files;
}

// Fixtures by number; `broken` ones are cut to half.
class FixtureTree final : public storage::FileTree {
 public:
  FixtureTree(std::int64_t count, std::vector<std::int64_t> broken)
      : FileTree("shelf", {Numbered(count), {}}), broken_(std::move(broken)) {}
  std::string Where(const storage::TreeFile& file) const override { return "shelf/" + file.name; }
  Result<std::string> Read(const storage::TreeFile& file) const override {
    static const char* const kNames[] = {"yuv420.jpg", "yuv444.jpg", "progressive.jpg", "grey.jpg"};
    std::ifstream in(std::string(RETORT_SOURCE_DIR "/tests/fixtures/pictures/") + kNames[file.offset % 4],
                     std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (std::count(broken_.begin(), broken_.end(), static_cast<std::int64_t>(file.offset)) > 0)
      bytes.resize(bytes.size() / 2);
    return bytes;
  }
  Result<std::unique_ptr<storage::InputFile>> Open(const storage::TreeFile& file) const override {
    return EnvironmentError(file.name + " is not opened here");
  }
  std::string Stamp() const override { return ""; }

 private:
  std::vector<std::int64_t> broken_;
};

class LoadedPictures : public ::testing::Test {
 protected:
  static std::shared_ptr<const storage::ExampleStore> Store(std::vector<std::int64_t> broken = {}) {
    storage::ExampleSet set;
    auto files = std::make_shared<FixtureTree>(10, std::move(broken));
    for (std::int64_t i = 0; i < 10; ++i) set.labels.push_back(i % 3);
    set.classes = 3;
    set.channels = 3;
    set.pictures = files->files();
    set.files = std::move(files);
    return std::make_shared<const storage::ExampleStore>(std::move(set));
  }
  static DataSpec Spec() {
    DataSpec data;
    data.name = "shelf";
    data.reader = "pictures";
    data.digest = std::string(64, 'd');
    data.channels = 3;
    data.classes = 3;
    data.mean = {0.5, 0.4, 0.3};
    data.std = {0.2, 0.3, 0.4};
    data.preprocessing = {.resize = 40, .crop = 32};
    return data;
  }
  Result<EncodedSplits> Load(const DataSpec& data, std::vector<std::int64_t> broken = {}, int threads = 2) {
    storage::ImageCache cache;
    cache.folder = folder_ / "cache";
    return LoadEncodedSplits(storage::PosixEnv(), data, Store(std::move(broken)), rows_, cache, threads,
                             [](std::int64_t, std::int64_t) { return Status(); });
  }

  testing::TemporaryDirectory folder_;
  SplitRows rows_ = {{7, 2, 5, 0}, {9, 1}, {4, 3}};
};

TEST_F(LoadedPictures, SplitsKeepTheirOrder) {
  const auto loaded = Load(Spec());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->shape, (ImageShape{3, 32, 32}));
  EXPECT_TRUE(loaded->train.labels.equal(at::tensor({1, 2, 2, 0}, at::kLong)));
  EXPECT_TRUE(loaded->public_split.labels.equal(at::tensor({0, 1}, at::kLong)));
  const std::string bytes = *Store()->Read(5);
  const auto alone = storage::PrepareImage("p", bytes, Spec().preprocessing);
  ASSERT_TRUE(alone.ok());
  const double want = (alone->planes[1024 + 33] / 255.0 - 0.4) / 0.3;
  EXPECT_EQ(loaded->train.Range(2, 1)[0][1][1][1].item<float>(), static_cast<float>(want));
  const auto again = Load(Spec(), {}, 1);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->train.Range(0, 4).equal(loaded->train.Range(0, 4)));
}

TEST_F(LoadedPictures, ABrokenPictureLeavesTheOthersWhereTheyAre) {
  const auto failed = Load(Spec(), {5});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.status().message().find("shelf/105"), std::string::npos) << failed.status().message();
  DataSpec data = Spec();
  data.preprocessing.on_error = OnError::skip_and_count;
  const auto whole = Load(Spec());
  data.digest[0] = 'e';
  const auto skipped = Load(data, {5, 3, 8});  // 8 is in no split
  ASSERT_TRUE(whole.ok() && skipped.ok());
  EXPECT_EQ(skipped->skipped.size(), 2U);
  EXPECT_EQ(skipped->skipped_train, 1);
  EXPECT_EQ(skipped->skipped_public, 0);
  EXPECT_EQ(skipped->skipped_test, 1);
  EXPECT_TRUE(skipped->train.labels.equal(at::tensor({1, 2, 0}, at::kLong)));
  const at::Tensor left = at::tensor({0, 1, 3}, at::kLong);
  EXPECT_TRUE(skipped->train.Range(0, 3).equal(whole->train.Batch(left)));
}

TEST_F(LoadedPictures, RowsKnowTheirFiles) {
  const auto loaded = Load(Spec());
  ASSERT_TRUE(loaded.ok());
  EXPECT_NE(loaded->train.FindFile(2).find("shelf/105"), std::string::npos) << loaded->train.FindFile(2);
  EXPECT_NE(loaded->public_split.FindFile(1).find("shelf/101"), std::string::npos) << loaded->public_split.FindFile(1);
  EXPECT_EQ(loaded->train.Without({2}).FindFile(2), "");
  EXPECT_EQ(Examples(at::zeros({1, 1, 2, 2}), at::zeros({1}, at::kLong)).FindFile(0), "");
}

TEST_F(LoadedPictures, GreyIsOneChannel) {
  DataSpec data = Spec();
  data.channels = 1;
  data.mean = {0.5};
  data.std = {0.25};
  const auto loaded = Load(data);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->train.Range(0, 2).sizes(), (std::vector<std::int64_t>{2, 1, 32, 32}));
  data.channels = 2;
  EXPECT_EQ(Load(data).status().code(), StatusCode::usage);
}

TEST_F(LoadedPictures, RandomCutsComeFromTheFiles) {
  const auto loaded = Load(Spec());
  ASSERT_TRUE(loaded.ok());
  const Augmentation augmentation{AugmentationKind::random_resized_crop, 0, {{0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}}};
  const auto cut = MakeAugmentedBatch(loaded->train, at::tensor({0, 1, 2, 3}, at::kLong), augmentation, 3, 1, 0);
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_EQ(cut->sizes(), (std::vector<std::int64_t>{4, 3, 32, 32}));
  const auto part = MakeAugmentedBatch(loaded->train, at::tensor({2, 3}, at::kLong), augmentation, 3, 1, 2);
  ASSERT_TRUE(part.ok());
  EXPECT_TRUE(cut->narrow(0, 2, 2).equal(*part));
}

}  // namespace
}  // namespace retort::worker
